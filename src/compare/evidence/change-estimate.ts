import { studentQuantile, studentTail } from "../../stats/hypothesis-tests.js";
import type { VarianceEstimate } from "../../stats/variance.js";

/** A change of log speed: below 0 is slower. */
export interface LogChange {
  change: number;
  /**
   * The interval that verdicts use: 95 %, and simultaneously for all changes that were judged together
   * (`judgedTogether()`).
   */
  low: number;
  high: number;
  /** Standard error of `change`, with its degrees of freedom. */
  error: number;
  degreesOfFreedom: number;
  /** The share of the error's variance that more candidate runs would reduce. */
  shareOfRuns: number;
  /** Number of tests that the p-values are corrected for. */
  chances: number;
  /** The change of the whole that this is a part of and is judged by; the interval covers both. */
  ofWhole?: number;
  /** One-sided p-value: the chance of a drop at least this large if nothing changed. */
  pSlower: number;
  /** One-sided p-value: the chance of a gain at least this large if nothing changed. */
  pFaster: number;
}

/** Probability beyond each end of a 95 % interval. */
const tail = 0.025;

/**
 * Student's t on the difference of two means of logarithms, over `runs` on each side. `noise` is the variance of one
 * run's logarithm with its degrees of freedom; `more` are further variances of the difference.
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
 * Student's t on a change whose variance is the sum of `parts`, each estimated separately; `ofCandidate` of it depends
 * on the number of candidate runs.
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

/** Probability beyond each end of the interval of one of `tests` simultaneous changes. */
export function tailOfOne(tests: number): number {
  return tail / tests;
}

/**
 * The change with its interval as one of `tests` simultaneous ones: all of them hold in 95 % of comparisons
 * (Bonferroni's inequality).
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

/** The chance of missing a loss of the detectable size. */
const missed = 0.05;

/**
 * The relative loss of speed that a comparison this certain calls at least probable 19 times out of 20: the estimate
 * has to pass the drop that counts, and the interval has to exclude zero. Null if no spread is known.
 */
export function lossThatWouldShow(judged: LogChange | null, drop: number): number | null {
  if (judged === null) return null;
  return detectableLoss(Math.max(drop, judged.change - judged.low), judged);
}

/** The relative loss of speed whose estimate passes `needed`, a drop of log speed, 19 times out of 20. */
export function detectableLoss(
  needed: number,
  { error, degreesOfFreedom }: Pick<LogChange, "error" | "degreesOfFreedom">,
): number {
  return -Math.expm1(-needed - error * studentQuantile(missed, degreesOfFreedom));
}
