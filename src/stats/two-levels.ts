import { median } from "./order-statistics.js";
import { deviationsPerMad } from "./variance.js";

/** Two levels between which the values of a course alternate. */
export interface TwoLevels {
  low: number;
  high: number;
  /** For each value, whether it belongs to the high level. */
  isHigh: boolean[];
}

/** The runs test below assumes many values. */
const fewestValues = 12;
/** Smallest share of the values on each level. */
const leastShare = 0.2;
/** The gap between the levels, in robust standard deviations about them. */
const leastGap = 8;
/** Fewer changes are steps. */
const fewestRuns = 5;
/** A course that stays longer at a level than in random order, by this many standard deviations, does not alternate. */
const mostClumping = 3;

/**
 * The two levels of values in two clusters with a gap in between, if these alternate about as often as in random order,
 * or more often. The gap is the widest one between values sorted by size; it must be wider than `leastGap`. The order is tested with the runs test of A. Wald and J. Wolfowitz ("On a test whether two
 * samples are from the same population", Annals of Mathematical Statistics 11, 1940). Null without such levels.
 */
export function twoLevels(values: readonly number[]): TwoLevels | null {
  const count = values.length;
  if (count < fewestValues) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const fewest = Math.ceil(leastShare * count);
  let split = fewest;
  const gapAt = (i: number) => sorted[i]! - sorted[i - 1]!;
  for (let i = fewest; i <= count - fewest; ++i) if (gapAt(i) > gapAt(split)) split = i;
  const [low, high] = [median(sorted.slice(0, split)), median(sorted.slice(split))];
  const distances = sorted.map((value, i) => Math.abs(value - (i < split ? low : high)));
  const deviation = deviationsPerMad * median(distances);
  if (gapAt(split) <= leastGap * deviation) return null;
  const isHigh = values.map((value) => value >= sorted[split]!);
  return takeTurns(isHigh, split) ? { low, high, isHigh } : null;
}

function takeTurns(isHigh: readonly boolean[], lowCount: number): boolean {
  const count = isHigh.length;
  const runs = 1 + isHigh.filter((high, i) => i > 0 && high !== isHigh[i - 1]).length;
  const pairs = 2 * lowCount * (count - lowCount);
  const expected = 1 + pairs / count;
  const variance = (pairs * (pairs - count)) / (count ** 2 * (count - 1));
  return runs >= fewestRuns && runs >= expected - mostClumping * Math.sqrt(variance);
}
