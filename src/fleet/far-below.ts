import type { CellLevels } from "./cell-levels.js";
import { kindName } from "./cells-together.js";

/** How far a slow one is below all others: by a factor at least, and by several times the range of the others. */
export interface FarRule {
  /** The smallest gap below all others, as a drop of the logarithm. */
  gap: number;
  ranges: number;
  fewest: number;
}

/**
 * A loss so large that no noise makes it in one cell. Few figures that scatter leave room for a tail by which a tenth of the
 * others' rate might be noise; no recorded process is that far off (pinned copies at most 1 %, others at most 46 %).
 */
const ofPinned: FarRule = { gap: Math.log(2), ranges: 4, fewest: 3 };
const ofOthers: FarRule = { ...ofPinned, gap: Math.log(3) };
/**
 * A weaker rule, for a GPU that each of several pinned cells shows: a link fault costs half in both directions, also where
 * machines scatter by 15 %. Of two others a range says little, so there must be three.
 */
export const farInEachCell: FarRule = { gap: Math.log(1.5), ranges: 3, fewest: 4 };

/**
 * For a GPU that may be slow: below two thirds of all others, and by more than these differ. Of healthy fleets
 * with normal noise of 15 %, at most one in a hundred has such a GPU; of those with three GPUs, two.
 */
export const farButUnclear: FarRule = { ...farInEachCell, ranges: 1, fewest: 3 };

/** More figures than this show their noise by themselves, also if it has heavy tails. */
const mostFew = 40;

const isFew = (figures: number, { fewest }: FarRule) => figures >= fewest && figures <= mostFew;

export function farRule(levels: CellLevels): FarRule {
  return kindName(levels) === "pinned" ? ofPinned : ofOthers;
}

/** Those that are far below all others, at most a quarter of all, or one of three. */
export function farBelow<One extends { drop: number }>(ones: readonly One[], rule: FarRule): One[] {
  const sorted = [...ones].sort((a, b) => b.drop - a.drop);
  const most = isFew(ones.length, rule) ? Math.max(1, Math.floor(ones.length / 4)) : 0;
  for (let far = 1; far <= most; ++far) {
    const range = sorted[far]!.drop - sorted.at(-1)!.drop;
    if (sorted[far - 1]!.drop - sorted[far]!.drop >= Math.max(rule.gap, rule.ranges * range))
      return sorted.slice(0, far);
  }
  return [];
}

/**
 * The smallest relative loss of a GPU that puts it far below all others, and as far below the reference if there is one
 * (`known`), even if it is the fastest of them; null with too few.
 */
export function farLoss(levels: CellLevels, rule: FarRule, known: readonly CellLevels[]): number | null {
  if (!isFew(levels.gpus.length, rule)) return null;
  const far = new Set(farBelow(levels.gpus, rule));
  const drops = levels.gpus.filter((one) => !far.has(one)).map(({ drop }) => drop);
  const fastest = Math.min(...drops);
  const range = Math.max(...drops) - fastest;
  const ofKnown = known.find(({ key }) => key === levels.key)?.gpus ?? [];
  const aboveKnown = -Math.min(...ofKnown.map(({ drop }) => drop), 0);
  // The loss that counts is one below the centre.
  const ofThreshold = levels.least - fastest;
  return -Math.expm1(
    -Math.max(Math.max(rule.gap, rule.ranges * range) + range, rule.gap + aboveKnown, ofThreshold),
  );
}
