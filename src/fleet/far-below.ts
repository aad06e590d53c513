import type { CellLevels } from "./cell-levels.js";
import { kindName } from "./cells-together.js";

/**
 * A loss so large that no noise makes it: the slow one is below all others by this factor at least, and by several times
 * the range of the others. Few figures that scatter leave room for a tail by which a tenth of the others' rate might be
 * noise; no recorded process is that far off (pinned copies at most 1 %, others at most 46 %).
 */
const leastFactors = { pinned: 2, others: 3 } as const;
const leastRanges = 4;
/** More figures than this show their noise by themselves, also if it has heavy tails. */
const mostFew = 40;

const isFew = (figures: number) => figures >= 3 && figures <= mostFew;

/** The smallest gap below all others, as a drop of the logarithm. */
export function leastFarGap(levels: CellLevels): number {
  return Math.log(kindName(levels) === "pinned" ? leastFactors.pinned : leastFactors.others);
}

/** Those that are far below all others, at most a quarter of all, or one of three. */
export function farBelow<One extends { drop: number }>(ones: readonly One[], leastGap: number): One[] {
  const sorted = [...ones].sort((a, b) => b.drop - a.drop);
  const most = isFew(ones.length) ? Math.max(1, Math.floor(ones.length / 4)) : 0;
  for (let far = 1; far <= most; ++far) {
    const range = sorted[far]!.drop - sorted.at(-1)!.drop;
    if (sorted[far - 1]!.drop - sorted[far]!.drop >= Math.max(leastGap, leastRanges * range))
      return sorted.slice(0, far);
  }
  return [];
}

/** The smallest relative loss of a GPU that puts it far below all others, even if it is the fastest of them; null with too few. */
export function farLoss(levels: CellLevels): number | null {
  const gap = leastFarGap(levels);
  const far = new Set(farBelow(levels.gpus, gap));
  const drops = levels.gpus.filter((one) => !far.has(one)).map(({ drop }) => drop);
  if (!isFew(levels.gpus.length)) return null;
  const range = drops.reduce((a, b) => Math.max(a, b)) - drops.reduce((a, b) => Math.min(a, b));
  return -Math.expm1(-(Math.max(gap, leastRanges * range) + range));
}
