import { counted } from "../draw/words.js";
import { thresholdOf } from "../settings/thresholds.js";
import { intervalOfShare } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
import type { CellComparison, CellSlowRuns, Verdict } from "./comparison.js";
import type { Evidence } from "./evidence/cell-evidence.js";
import type { LogChange } from "./evidence/change-estimate.js";
import {
  findSlowRuns,
  findUnevenRuns,
  needsMoreRuns,
  rateAgainstBaseline,
  runsToConfirm,
  type SlowRuns,
  slowOfCandidate,
  type UnevenRuns,
} from "./evidence/uneven-runs.js";
import type { Rule } from "./result-set.js";
import { figureOf, type Series } from "./series.js";

/** Terms of all cells of a comparison. */
export interface JudgingTerms {
  rule: Rule;
  /** Whether fresh processes must confirm a regression. */
  needsConfirmation: boolean;
  /** Whether the two sides are not comparable. */
  isBlocked: boolean;
}

/** The change of a series that counts: the threshold, but at least the floor. */
interface ChangeBounds {
  /** A relative drop: 0.05 is 5 %. */
  threshold: number;
  /** An absolute difference, in the series' unit. */
  floor: number;
}

function boundsOf({ cell, unit }: Series, { thresholds }: Rule): ChangeBounds {
  return {
    threshold: thresholdOf(thresholds, cell),
    floor: unit === "us" ? thresholds.floorUs : thresholds.floorGBps,
  };
}

/**
 * A cell that lost more than this share of its threshold, with a p-value below this level, is a suspect, which a check
 * measures again in fresh runs. The limits are generous because a check never calls another cell slower. A suspect is
 * confirmed if the fresh runs alone show as much. Their p-value needs no correction for many cells, because they did
 * not choose the suspects.
 */
const suspicion = { shareOfThreshold: 0.5, level: 0.05 };

/** At least this share of the candidate's runs must be slower than the baseline by this share of the threshold. */
const mostRuns = { share: 0.8, shareOfThreshold: 0.5 };

/**
 * Number of fresh processes that must measure a series again before it is judged: 0 if nothing looks slow, 1 if all of
 * it looks slower (more add certainty), and more if some runs are slow or uneven, because few fresh runs could miss
 * these.
 */
export function confirmingRuns(series: Series, evidence: Evidence, rule: Rule): number {
  const drop = countingDropOfCell(series, evidence, rule);
  const slow = findSlowRuns(series, evidence, drop);
  const uneven = findUnevenRuns(series, evidence, thresholdOf(rule.thresholds, series.cell));
  if (slow === null && uneven === null) {
    return evidence.overall !== null && isSuspicious(evidence.overall, drop) ? 1 : 0;
  }
  return Math.max(
    slow === null ? 0 : runsToConfirm(slow.first),
    uneven === null ? 0 : uneven.first.slow === 0 ? 1 : runsToConfirm(uneven.first),
  );
}

/**
 * If the candidate's runs cause a smaller share of the error, more of them do not settle a verdict: the rest is noise
 * between occasions, of which few are known. Groups have a smaller limit, because this noise dominates their intervals,
 * and a little narrowing helps.
 */
const leastShareOfRuns = { cell: 0.3, group: 0.1 };

/** Whether more fresh processes may settle the verdict on a series that some have measured. */
export function isUnsettled(series: Series, evidence: Evidence, rule: Rule): boolean {
  const drop = countingDropOfCell(series, evidence, rule);
  const slow = findSlowRuns(series, evidence, drop);
  if (slow !== null && needsMoreRuns(slow)) return true;
  const uneven = findUnevenRuns(series, evidence, thresholdOf(rule.thresholds, series.cell));
  if (uneven !== null && needsMoreRuns(uneven, uneven.rate)) return true;
  return isUnsettledDrop(evidence, drop, leastShareOfRuns.cell);
}

/** The same for a group. */
export function isUnsettledGroup(group: GroupToJudge, rule: Rule): boolean {
  return isUnsettledDrop(group.evidence, countingDropOfGroup(group, rule), leastShareOfRuns.group);
}

/** Whether a drop that counts is open: neither shown nor likely to be chance. */
function isUnsettledDrop(evidence: Evidence, drop: number, leastShare: number): boolean {
  const { overall } = evidence;
  if (overall === null || overall.shareOfRuns < leastShare) return false;
  return -overall.change > drop && isSuspicious(overall, drop) && !isShown(evidence, drop);
}

function isSuspicious({ change, pSlower }: LogChange, drop: number): boolean {
  return -change > suspicion.shareOfThreshold * drop && pSlower < suspicion.level;
}

/** Whether a drop is likely: the estimate exceeds what counts, and the interval excludes zero. */
function isProbable({ change, high }: LogChange, drop: number): boolean {
  return -change > drop && high < 0;
}

/**
 * The chance that any cell is called slower although none is, if the assumptions hold (docs/method.md). Chosen with
 * `node bench regress`: less than 1 % of comparisons of equals raise a false alarm.
 */
export const significance = 0.003;

/** Whether a drop is significant after the correction for many cells. */
function isShown({ overall, adjusted }: Evidence, drop: number): boolean {
  return -overall!.change > drop && adjusted!.slower < significance;
}

/** The verdict on a series with its reason; `evidence` is null if a side lacks the series. */
export function judge(series: Series, evidence: Evidence | null, terms: JudgingTerms): Judgement {
  const judged = judgeMedians(series, evidence, terms);
  const isOpen = medianVerdictsThatMayBeUneven.includes(judged.verdict);
  const uneven =
    isOpen && evidence !== null && !terms.isBlocked
      ? findUnevenRuns(series, evidence, thresholdOf(terms.rule.thresholds, series.cell))
      : null;
  const judgedUneven = uneven && judgeUnevenRuns(uneven, terms);
  if (judgedUneven === null) return judged;
  const areBothOpen = judgedUneven.verdict === judged.verdict;
  const reason = areBothOpen ? `${judged.reason}; ${judgedUneven.reason}` : judgedUneven.reason;
  return { verdict: judgedUneven.verdict, reason, slowRuns: judged.slowRuns };
}

/** Copies can be uneven although the median did not get slower. */
const medianVerdictsThatMayBeUneven: readonly Verdict[] = ["faster", "not slower", "inconclusive"];

/** Null if slow copies took no more time than before. Uneven copies are shown and confirmed like slow runs. */
function judgeUnevenRuns(uneven: UnevenRuns, { needsConfirmation }: JudgingTerms): Judgement | null {
  const { first, fresh, lost } = uneven;
  const { slow, runs } = slowOfCandidate(uneven);
  const percent = (share: number) => `${Math.max(0, Math.round(share * 100))} %`;
  const share = `slow copies took ${percent(lost.candidate)} of the time, ${percent(lost.baseline)} before`;
  const { isByMean } = uneven;
  if (needsConfirmation && !(uneven.isMetAgain && (isByMean || (fresh.slow > 0 && slow > 1)))) {
    const again =
      fresh.runs === 0 ? "fresh processes could not measure it again" : "fresh processes did not confirm it";
    return first.slow === 0 ? null : plain("inconclusive", `${share}, and ${again}`);
  }
  if (slow === 1 && !isByMean) return plain("inconclusive", `${share}, in 1 of ${counted(runs, "run")}`);
  switch (uneven.rate) {
    case "more":
      return plain("uneven", share);
    case "open":
      return plain(
        "inconclusive",
        `${share}, in ${slow} of ${counted(runs, "run")}: that may be as often as before`,
      );
    case "less":
      return null;
  }
}

/** The verdict on a series by its medians, and by single slow runs. */
function judgeMedians(series: Series, evidence: Evidence | null, terms: JudgingTerms): Judgement {
  if (series.baseline.length === 0) return plain("new", "the baseline does not have it");
  if (evidence === null)
    return plain("missing", series.absence?.reason ?? "the candidate did not measure it");
  if (terms.isBlocked) return plain("not comparable", "the two sides differ in what their figures depend on");
  if (evidence.overall === null) {
    return plain(
      "inconclusive",
      "a side has only one or two runs, and no spread between runs is recorded for this kind",
    );
  }
  const bounds = boundsOf(series, terms.rule);
  const drop = countingDrop(series, evidence, bounds);
  const whatCounts =
    drop > logFall(bounds.threshold)
      ? `the floor of ${floorText(series, bounds)}`
      : `a drop of ${percentText(bounds.threshold)}`;
  const slow = findSlowRuns(series, evidence, drop);
  // If most runs are slower, the occasion may have shifted them all, so this is not about single slow runs.
  const isMost = isMostRuns(evidence, drop);
  if (slow !== null && !isMost) return judgeSlowRuns(series, slow, terms);
  const slower = judgeDrop(evidence, drop, { terms, isMost, percent: percentText(bounds.threshold) });
  if (slower !== null) return slower;
  const percent = percentText(bounds.threshold);
  const gain = countingGain(series, evidence, bounds);
  const judged = judgeNoDrop(evidence, { drop, gain, whatCounts, percent });
  return slow !== null && judged.verdict === "not slower"
    ? plain("inconclusive", neitherShown(whatCounts))
    : judged;
}

/** The verdict on a group; the drop that counts is that of its median cell. */
export function judgeGroup(group: GroupToJudge, terms: JudgingTerms): GroupVerdict {
  const { evidence, withHost, host } = group;
  const drop = countingDropOfGroup(group, terms.rule);
  const percent = percentText(-Math.expm1(-drop));
  const lossIn = (some: Evidence) =>
    judgeDrop(some, drop, { terms, isMost: isMostRuns(some, drop), percent });
  const ofCopies = lossIn(evidence);
  const isLoss = (judged: Judgement | null) => judged !== null && judged.verdict !== "inconclusive";
  // Programs lose speed whether the host's memory or the copies are to blame, so both must agree.
  if (!isLoss(ofCopies) && withHost !== null && host !== null && -host.change > drop / 2) {
    const ofBoth = lossIn(withHost);
    if (ofBoth !== null && isLoss(ofBoth)) return { ...ofBoth, isWithHost: true };
  }
  const bounds = { drop, gain: drop, whatCounts: `a drop of ${percent}`, percent };
  return { ...(ofCopies ?? judgeNoDrop(evidence, bounds)), isWithHost: false };
}

/** The verdict on a series or group that does not look slower. */
function judgeNoDrop(
  { overall, adjusted }: Evidence,
  { drop, gain, whatCounts, percent }: { drop: number; gain: number; whatCounts: string; percent: string },
): Judgement {
  if (overall !== null && overall.change > gain && adjusted!.faster < significance) {
    return plain("faster", `by more than ${percent}, beyond the spread between runs`);
  }
  return overall !== null && overall.low > -drop
    ? plain("not slower", `${whatCounts} lies outside the interval`)
    : plain("inconclusive", neitherShown(whatCounts));
}

function neitherShown(whatCounts: string): string {
  return `the spread between runs neither shows nor excludes ${whatCounts}`;
}

/** The drop of a cell's log speed that counts: the threshold's, or the floor's if larger. */
export function countingDropOfCell(series: Series, evidence: Evidence, rule: Rule): number {
  return countingDrop(series, evidence, boundsOf(series, rule));
}

/** The drop of log speed that counts in the group's median cell. */
export function countingDropOfGroup({ members }: Pick<GroupToJudge, "members">, rule: Rule): number {
  const drops = members.map((one) => countingDropOfCell(one.series, one.evidence, rule));
  // A cell slower than the floor cannot lose that much: its limit is infinite.
  return median(drops.map((drop) => Math.min(drop, Number.MAX_VALUE)));
}

/** Whether a group looks slower, alone or with the host's memory, so that its cells are measured again. */
export function isSuspiciousGroup(group: GroupToJudge, rule: Rule): boolean {
  const drop = countingDropOfGroup(group, rule);
  const { evidence, withHost, host } = group;
  if (evidence.overall !== null && isSuspicious(evidence.overall, drop)) return true;
  if (withHost === null || host === null || -host.change <= drop / 2) return false;
  return withHost.overall !== null && isSuspicious(withHost.overall, drop);
}

/** The evidence for a verdict on a group. */
export interface GroupToJudge {
  members: readonly { series: Series; evidence: Evidence }[];
  evidence: Evidence;
  /** Including the part that the host's memory explains; null without a control. */
  withHost: Evidence | null;
  /** The change of the host's memory; null if unknown. */
  host: Pick<LogChange, "change"> | null;
}

/** The verdict on a group, and whether it includes the loss of the host's memory. */
export interface GroupVerdict extends Judgement {
  isWithHost: boolean;
}

/** The verdict on a series or group that looks slower; null if it does not. */
function judgeDrop(
  evidence: Evidence,
  drop: number,
  { terms, isMost, percent }: { terms: JudgingTerms; isMost: boolean; percent: string },
): Judgement | null {
  const { overall } = evidence;
  if (overall === null) return null;
  const isCertain = isShown(evidence, drop);
  if (!isCertain && !isProbable(overall, drop)) return null;
  if (!isMost) return plain("inconclusive", whyNotMostRuns(evidence, drop));
  const { confirmation } = evidence;
  if (terms.needsConfirmation && confirmation !== null && !isSuspicious(confirmation, drop)) {
    return plain("inconclusive", "it looked slower, and fresh processes did not confirm it");
  }
  if (terms.needsConfirmation && confirmation === null) {
    return plain("probably slower", "it looked slower, and fresh processes could not measure it again");
  }
  return isCertain
    ? plain("slower", `by more than ${percent}, beyond the spread between runs`)
    : plain("probably slower", `by more than ${percent}, and the interval excludes zero`);
}

/** A verdict, its reason in a sentence, and the slow runs if it is about any. */
type Judgement = Pick<CellComparison, "verdict" | "reason" | "slowRuns">;

function plain(verdict: Verdict, reason: string): Judgement {
  return { verdict, reason, slowRuns: null };
}

/** For `compare` the first processes show slow runs; for `check` fresh ones must also have some. */
function judgeSlowRuns(series: Series, slow: SlowRuns, { needsConfirmation }: JudgingTerms): Judgement {
  const { baseline, fresh } = slow;
  const { slow: count, runs } = slowOfCandidate(slow);
  const slowRuns: CellSlowRuns = {
    count,
    runs,
    share: intervalOfShare({ slow: count, runs }),
    ofBaseline: baseline.slow,
    worstChange: changeOfFigure(series, slow.worst),
    startedAt: slow.startedAt,
  };
  if (needsConfirmation && (fresh.slow === 0 || count === 1)) {
    return { verdict: "inconclusive", reason: whySlowRunsNotConfirmed(slow), slowRuns };
  }
  const before = baseline.slow === 0 ? "none" : `${baseline.slow}`;
  const share = `${count} of ${runs} runs are far slower, of the baseline's ${baseline.runs} ${before}`;
  return rateAgainstBaseline(slow) === "less"
    ? { verdict: "inconclusive", reason: `${share}: less often than before`, slowRuns }
    : { verdict: "unsteady", reason: share, slowRuns };
}

function whySlowRunsNotConfirmed({ first, fresh }: SlowRuns): string {
  if (first.slow === 0) return `1 of ${fresh.runs} fresh processes was far slower, and no run before these`;
  const again =
    fresh.runs === 0
      ? "fresh processes could not measure it again"
      : `none of ${fresh.runs} fresh processes was`;
  return `${first.slow} of ${first.runs} runs were far slower, and ${again}`;
}

/** Whether enough of the candidate's runs are slower to call the cell slower instead of unsteady. */
function isMostRuns(evidence: Evidence, drop: number): boolean {
  const { slower, of } = slowerRuns(evidence, drop);
  return slower >= mostRuns.share * of;
}

function slowerRuns({ baseline, runs }: Evidence, drop: number): { slower: number; of: number } {
  const candidate = [...runs.first, ...runs.fresh];
  const slower = candidate.filter(
    (logSpeed) => logSpeed < baseline - mostRuns.shareOfThreshold * drop,
  ).length;
  return { slower, of: candidate.length };
}

/** Most runs must be slower, because a few outliers do not make a cell slower. */
function whyNotMostRuns(evidence: Evidence, drop: number): string {
  const { slower, of } = slowerRuns(evidence, drop);
  return `only ${slower} of ${of} runs are slower than the baseline by more than half the threshold`;
}

/** Converts a change of log speed to a relative change of the figure: a latency rises as speed drops. */
export function changeOfFigure({ unit }: Pick<Series, "unit">, change: number): number {
  return Math.expm1(unit === "us" ? -change : change);
}

/** The change of a figure's logarithm if the figure rises by this share. */
function logRise(share: number): number {
  return Math.log1p(share);
}

/** The change of a figure's logarithm if the figure falls by this share, which is at most 1. */
function logFall(share: number): number {
  return share < 1 ? -Math.log1p(-share) : Infinity;
}

/** The drop of log speed that counts: the threshold's, or the floor's if larger. */
function countingDrop(series: Series, { baseline }: Evidence, { threshold, floor }: ChangeBounds): number {
  const share = floor / figureOf(series, baseline);
  return Math.max(logFall(threshold), series.unit === "us" ? logRise(share) : logFall(share));
}

/** The gain of log speed that counts: the threshold's, or the floor's if larger. */
function countingGain(series: Series, { baseline }: Evidence, { threshold, floor }: ChangeBounds): number {
  const share = floor / figureOf(series, baseline);
  return Math.max(logRise(threshold), series.unit === "us" ? logFall(share) : logRise(share));
}

function percentText(share: number): string {
  return `${+(share * 100).toPrecision(3)} %`;
}

function floorText({ unit }: Series, { floor }: ChangeBounds): string {
  return unit === "us" ? `${floor} µs` : `${floor} GB/s`;
}
