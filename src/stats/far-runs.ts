import { studentQuantile } from "./hypothesis-tests.js";
import { robustVariance } from "./variance.js";

/** Consecutive values that are all far off to the same side. */
export interface FarRun {
  first: number;
  /** Index after its last value. */
  end: number;
}

/** Longest run: a longer one is a level of its own, which `fitPieces()` finds. */
export const longestRun = 3;
/** Robust standard deviations from which a value may be far: in a run of several, and alone. */
const farInRun = 6;
const farAlone = 10;
/** How many times as far as the farthest other value. */
const apartInRun = 3;
const apartAlone = 10;
/** Fewer values do not show their scatter. */
const fewestValues = 7;

/** A residual's distance in standard deviations: those of all residuals, or its own if that is larger. */
export function standardized(residual: number, error: number | null, deviation: number): number {
  return residual / Math.max(deviation, error ?? 0, leastDeviation);
}

/** As in `fitPieces()`: no value is more certain than this. */
const leastDeviation = 1e-4;

/**
 * A robust standard deviation of residuals, and the distances, in such deviations, at which a value counts as far: in a
 * run, and alone. These grow if the deviation is uncertain (Student's t). Null for fewer than 7 residuals.
 */
export function farDistances(
  residuals: readonly number[],
): { deviation: number; inRun: number; alone: number } | null {
  if (residuals.length < fewestValues) return null;
  const { variance, degreesOfFreedom } = robustVariance([residuals])!;
  const leastQuantile = studentQuantile(0.001, degreesOfFreedom);
  return {
    deviation: Math.sqrt(variance),
    inRun: Math.max(farInRun, leastQuantile),
    alone: Math.max(farAlone, leastQuantile),
  };
}

/**
 * The runs of up to three values that are far off, from distances in standard deviations. A gap must separate them from
 * all others, so that heavy tails, whose extremes are close together, do not count: a single value must be ten times as
 * far as the farthest other one (with Student's t of 3 degrees of freedom, 1 in 1000 is, in long courses); those of a
 * run three times, and each at least half as far as the farthest of the run. At most a fifth of the values are in runs.
 */
export function farRuns(distances: readonly number[], inRun: number, alone: number): FarRun[] {
  const sizes = distances.map(Math.abs);
  const order = sizes.map((_, i) => i).sort((a, b) => sizes[b]! - sizes[a]!);
  for (let count = Math.floor(distances.length / 5); count > 0; --count) {
    const next = sizes[order[count]!]!;
    const least = sizes[order[count - 1]!]!;
    if (least < inRun || least < apartInRun * next) continue;
    const runs = runsOf(order.slice(0, count), distances);
    const isClear = ({ first, end }: FarRun) => {
      const members = sizes.slice(first, end);
      const [nearest, farthest] = [Math.min(...members), Math.max(...members)];
      if (members.length > longestRun) return false;
      if (nearest >= alone && nearest >= apartAlone * next) return true;
      return members.length > 1 && nearest >= farthest / 2;
    };
    if (runs.every(isClear)) return runs;
  }
  return [];
}

/** The values at these indices, with neighbours on the same side in one run. */
function runsOf(indices: readonly number[], distances: readonly number[]): FarRun[] {
  const runs: FarRun[] = [];
  for (const i of [...indices].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last?.end === i && Math.sign(distances[i - 1]!) === Math.sign(distances[i]!)) last.end = i + 1;
    else runs.push({ first: i, end: i + 1 });
  }
  return runs;
}
