import { settingKey } from "../../results/loader-setting.js";
import type { LoaderSetting } from "../../results/tuning.js";
import { neverRuledOut, type Trials } from "../trials.js";
import { bestOf, type ChoiceRule, cheapestWithin, compareCost, type Measured, shortfall } from "./choice.js";
import { apartInTime, trialsOfClaim } from "./loop-body.js";
import { chosenOf } from "./spare-workers.js";

/** Most repetitions of each setting. */
const mostTurns = 4;
/** Number of further candidates besides the chosen and the best. */
const mostOthers = 2;
/** A trial that would end after this share of the budget is not repeated. */
const lastShare = 0.9;

/**
 * Repeats doubtful settings in turns: the fastest of many measurements is partly lucky, others were unlucky, and turns
 * expose all to the same state of the machine. It also repeats the compared settings, the choice and the starting
 * point, until their difference is certain or known to be small.
 */
export async function confirm(trials: Trials, spentShare: (furtherNs: number) => number): Promise<void> {
  for (let turn = 0; turn < mostTurns; ++turn) {
    const { measured, rule, startingPoint } = trials;
    const chosen = chosenOf(trials, measured);
    const claimed = inClaim(measured, startingPoint, rule, mostTurns - turn, chosen);
    const unseen = trials.probe.facts.kind === "live" ? seenOnce(measured, rule, chosen) : [];
    const settings = [...claimed, ...inDoubt(measured, rule), ...unseen];
    const again = new Map(settings.map((one) => [settingKey(one), one]));
    if (again.size === 0) return;
    for (const setting of again.values()) {
      if (trials.isOver || spentShare(lastTrialNs(trials, setting)) > lastShare) return;
      await trials.run(setting, { tolerance: neverRuledOut });
    }
  }
}

/** Duration of a setting's last trial, which predicts the next one. */
function lastTrialNs(trials: Trials, setting: LoaderSetting): number {
  return trials.find(setting)?.trials.at(-1)?.arrivalsNs.at(-1) ?? 0;
}

/**
 * The starting point and the choice, while the gain between them is undecided; none once it is decided, or if the
 * remaining turns would not decide it.
 */
export function inClaim(
  measured: readonly Measured[],
  startingPoint: LoaderSetting,
  rule: ChoiceRule,
  turnsLeft = mostTurns,
  chosen = cheapestWithin(measured, rule),
): LoaderSetting[] {
  const start = measured.find(({ setting }) => settingKey(setting) === settingKey(startingPoint));
  if (chosen === null || start === undefined || start === chosen) return [];
  const pair = [start, chosen];
  const fewest = Math.min(start.trials, chosen.trials);
  if (fewest < trialsOfClaim) return pair.map(({ setting }) => setting);
  const { share, uncertainty } = shortfall(start, chosen, { ...rule, overlapWorth: 1 });
  const isClearAt = (half: number) => Math.abs(share) > half || half <= 2 * rule.tolerance;
  // Intervals narrow with the square root of the number of trials.
  const afterTurns = uncertainty * Math.sqrt(fewest / (fewest + turnsLeft));
  return isClearAt(uncertainty) || !isClearAt(afterTurns) ? [] : pair.map(({ setting }) => setting);
}

/** The choice and the next best, while one of them was measured only once; none if nothing is close. */
export function seenOnce(
  measured: readonly Measured[],
  rule: ChoiceRule,
  chosen = cheapestWithin(measured, rule),
): LoaderSetting[] {
  const rival = bestOf(
    measured.filter((one) => one !== chosen),
    rule,
  );
  if (chosen === null || rival === null || shortfall(rival, chosen, rule).share > apartInTime) return [];
  const pair = [chosen, rival];
  return pair.some(({ trials }) => trials < 2) ? pair.map(({ setting }) => setting) : [];
}

/** Share of the chosen setting's workers up to which a nearly sufficient setting is repeated. */
const muchCheaper = 0.75;

/** The settings between which the choice is uncertain, best first; none if it is certain. */
export function inDoubt(measured: readonly Measured[], rule: ChoiceRule): LoaderSetting[] {
  const best = bestOf(measured, rule);
  const chosen = cheapestWithin(measured, rule);
  if (best === null || chosen === null) return [];
  const { tolerance } = rule;
  const against = (one: Measured) => shortfall(one, best, rule);
  /** Whether it may be within the tolerance, and close enough that more trials could show it. */
  const mayDo = (one: Measured) => {
    const { share, uncertainty } = against(one);
    return share - uncertainty <= tolerance && share <= 3 * tolerance;
  };
  /** Whether it may beat the best, and was tried only once, perhaps unluckily. */
  const mayWin = (one: Measured) => {
    const { share, uncertainty } = against(one);
    return one.trials < 2 && share - uncertainty < -tolerance;
  };
  const isWorth = (one: Measured) => {
    if (mayWin(one)) return true;
    if (compareCost(one.setting, chosen.setting) >= 0) return against(one).share < against(chosen).share;
    const [few, many] = [one.setting.numWorkers, chosen.setting.numWorkers];
    return few <= muchCheaper * many || few === many;
  };
  const others = measured
    .filter((one) => one !== best && one !== chosen && mayDo(one) && isWorth(one))
    .sort((a, b) => against(a).share - against(b).share)
    .slice(0, mostOthers);
  const isUncertain = (one: Measured) => {
    const { share, uncertainty } = against(one);
    if (mayWin(one)) return true;
    return uncertainty > 1.5 * tolerance && Math.abs(share - tolerance) <= uncertainty;
  };
  const contenders = chosen === best ? others : [chosen, ...others];
  return contenders.some(isUncertain)
    ? [best, ...contenders.filter((one) => one === chosen || isUncertain(one))].map(({ setting }) => setting)
    : [];
}
