import { thresholdOf } from "../settings/thresholds.js";
import { studentQuantile } from "../stats/hypothesis-tests.js";
import { kindOf, logSpeeds } from "./evidence.js";
import type { RunFigures } from "./figures.js";
import { type CellNoise, estimateNoise } from "./noise.js";
import type { Rule } from "./rule.js";
import { joinRuns } from "./series.js";

/** What a baseline is good for: the noise between its runs, and the drops that a check against it finds. */
export interface Sensitivity {
  /** Kinds of memory in the order in which they first appear, latency apart. */
  kinds: {
    name: string;
    cells: number;
    /** Standard deviation of a run's figure, relative to it: the middle cell's and the worst one's. */
    typicalDeviation: number;
    largestDeviation: number;
    /** Relative drops that a check finds 19 times out of 20. */
    typicalDrop: number;
    largestDrop: number;
  }[];
}

/** The chance that a drop of the size that is given goes unnoticed. */
const missed = 0.05;

/**
 * For a check of `checkRuns` processes with as many to confirm. The drop d of a cell is found where its estimate, of
 * standard error e, passes Holm's first step and the threshold T: d = max(e t_a, T) + e t_b, with the quantiles of
 * Student's t for the significance over the number of cells and for the chance of missing it, in logarithms. Null
 * where fewer than two runs leave the noise unknown.
 */
export function sensitivityOf(
  runs: readonly RunFigures[],
  checkRuns: number,
  { thresholds, significance }: Pick<Rule, "thresholds" | "significance">,
): Sensitivity | null {
  const { series } = joinRuns({ baseline: runs, first: [], fresh: [] });
  const names = series.map(kindOf);
  const noise = estimateNoise(
    series.map((one, i) => ({ memory: names[i]!, groups: [logSpeeds(one, one.baseline)] })),
    null,
  );
  if (noise.includes(null) || noise.length === 0) return null;
  const dropOf = (i: number) => {
    const { variance, offsetVariance, degreesOfFreedom } = noise[i] as CellNoise;
    const perRun = 1 / series[i]!.baseline.length + 1 / (2 * checkRuns);
    const error = Math.sqrt((variance + offsetVariance) * perRun);
    const shown = error * studentQuantile(significance / series.length, degreesOfFreedom);
    const threshold = -Math.log1p(-thresholdOf(thresholds, series[i]!.cell));
    return -Math.expm1(-Math.max(shown, threshold) - error * studentQuantile(missed, degreesOfFreedom));
  };
  return {
    kinds: [...new Set(names)].map((name) => {
      const members = [...names.keys()].filter((i) => names[i] === name);
      const deviations = members.map((i) => Math.sqrt(noise[i]!.variance)).sort((a, b) => a - b);
      const drops = members.map(dropOf).sort((a, b) => a - b);
      return {
        name,
        cells: members.length,
        typicalDeviation: middle(deviations),
        largestDeviation: deviations.at(-1)!,
        typicalDrop: middle(drops),
        largestDrop: drops.at(-1)!,
      };
    }),
  };
}

function middle(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)]!;
}
