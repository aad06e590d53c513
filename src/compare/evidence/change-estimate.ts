import { studentQuantile, studentTail } from "../../stats/hypothesis-tests.js";
import type { VarianceEstimate } from "../../stats/variance.js";

/** A change of the logarithm of speed: below 0 is slower. */
export interface LogChange {
  change: number;
  /**
   * The interval that a verdict is made of: of 95 %, and where changes were judged together (`judgedTogether()`), for all
   * of them at once.
   */
  low: number;
  high: number;
  /** Standard error of `change`, with its degrees of freedom. */
  error: number;
  degreesOfFreedom: number;
  /** The share of the error's variance that more runs of the candidate would make smaller. */
  shareOfRuns: number;
  /** How many chances the change had to look as large: the p-values are corrected for it. */
  chances: number;
  /** The change of what this is a part of and is judged by: the interval covers that of both. */
  ofWhole?: number;
  /** One-sided p-value: the chance of a drop at least as large where nothing changed. */
  pSlower: number;
  /** One-sided p-value: the chance of a gain at least as large where nothing changed. */
  pFaster: number;
}

/** Beyond each end of a 95 % interval. */
const tail = 0.025;

/**
 * Student's t on the difference of two means of logarithms, over `runs` on each side, where the logarithm of one run
 * has the variance and the degrees of freedom of `noise`; `more` are further variances of that difference.
 */
export function estimateChange(
  means: { baseline: number; candidate: number },
  runs: { baseline: number; candidate: number },
  noise: VarianceEstimate & { offsetVariance: number },
  more: readonly VarianceEstimate[] = [],
): LogChange {
  const perRun = 1 / runs.baseline + 1 / runs.candidate;
  const variance = (noise.variance + noise.offsetVariance) * perRun;
  const ofCandidate = variance / runs.candidate / perRun;
  return changeOf(
    means.candidate - means.baseline,
    [{ variance, degreesOfFreedom: noise.degreesOfFreedom }, ...more],
    ofCandidate,
  );
}

/**
 * Student's t on a change whose variance is the sum of `parts`, each estimated by itself; `ofCandidate` of it is due to the
 * number of the candidate's runs.
 */
export function changeOf(change: number, parts: readonly VarianceEstimate[], ofCandidate: number): LogChange {
  const { variance, degreesOfFreedom } = sumOfVariances(parts);
  const error = Math.sqrt(variance);
  const halfWidth = error * studentQuantile(tail, degreesOfFreedom);
  return {
    change,
    low: change - halfWidth,
    high: change + halfWidth,
    error,
    degreesOfFreedom,
    shareOfRuns: ofCandidate / variance,
    chances: 1,
    pSlower: studentTail(-change / error, degreesOfFreedom),
    pFaster: studentTail(change / error, degreesOfFreedom),
  };
}

/** Beyond each end of the interval of one of `tests` changes that are judged together. */
export function tailOfOne(tests: number): number {
  return tail / tests;
}

/**
 * The change with the interval that it has as one of `tests` changes that are judged together: all of their intervals hold
 * at once in 95 % of comparisons (C. E. Bonferroni's inequality).
 */
export function judgedTogether(change: LogChange, tests: number): LogChange {
  const halfWidth =
    change.error * studentQuantile(tailOfOne(tests * change.chances), change.degreesOfFreedom);
  const { ofWhole = change.change } = change;
  return {
    ...change,
    low: Math.min(change.change, ofWhole) - halfWidth,
    high: Math.max(change.change, ofWhole) + halfWidth,
  };
}

/**
 * The sum of independently estimated variances, with the degrees of freedom of F. E. Satterthwaite ("An approximate
 * distribution of estimates of variance components", Biometrics Bulletin 2, 1946).
 */
export function sumOfVariances(parts: readonly VarianceEstimate[]): VarianceEstimate {
  const variance = parts.reduce((sum, part) => sum + part.variance, 0);
  const squares = parts.reduce((sum, part) => sum + part.variance ** 2 / part.degreesOfFreedom, 0);
  return { variance, degreesOfFreedom: variance ** 2 / squares };
}

/** The chance that a loss of the size that would show goes unnoticed. */
const missed = 0.05;

/**
 * The relative loss of speed that a comparison as certain as this one calls at least probable 19 times out of 20: the
 * estimate has to pass the drop that counts, and its interval no change. Null if no spread is known.
 */
export function lossThatWouldShow(judged: LogChange | null, drop: number): number | null {
  if (judged === null) return null;
  const needed = Math.max(drop, judged.change - judged.low);
  return -Math.expm1(-needed - judged.error * studentQuantile(missed, judged.degreesOfFreedom));
}
