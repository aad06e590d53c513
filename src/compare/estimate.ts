import { studentQuantile, studentTail } from "../stats/hypothesis-tests.js";
import type { VarianceEstimate } from "../stats/variance.js";

/** A change of log speed: below 0 is slower. */
export interface LogChange {
  change: number;
  /** 95 % interval, for this cell alone. */
  low: number;
  high: number;
  /** One-sided: the chance of so large a drop, or a larger one, where there is none. */
  pSlower: number;
  /** The same of a gain. */
  pFaster: number;
}

const tail = 0.025;

/**
 * Student's t on the difference of two means of logarithms, with the variance of one process's logarithm and what
 * shared offsets add to it, for `baselineRuns` and `candidateRuns` processes.
 */
export function estimateChange(
  means: { baseline: number; candidate: number },
  runs: { baseline: number; candidate: number },
  noise: VarianceEstimate & { offsetVariance: number },
): LogChange {
  const change = means.candidate - means.baseline;
  const variance = (noise.variance + noise.offsetVariance) * (1 / runs.baseline + 1 / runs.candidate);
  const error = Math.sqrt(variance);
  const half = error * studentQuantile(tail, noise.degreesOfFreedom);
  const pSlower = studentTail(-change / error, noise.degreesOfFreedom);
  const pFaster = studentTail(change / error, noise.degreesOfFreedom);
  return { change, low: change - half, high: change + half, pSlower, pFaster };
}
