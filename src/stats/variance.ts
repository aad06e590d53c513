import { digamma, trigamma, trigammaInverse } from "./hypothesis-tests.js";
import { median } from "./order-statistics.js";

/** Means and variances: plain ones, robust ones, and variances moderated by similar ones. */

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The arithmetic mean; NaN without values. */
export function mean(values: readonly number[]): number {
  return sumOf(values) / values.length;
}

export function squaresAboutMean(values: readonly number[]): number {
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
}

/** An estimated variance, and its degrees of freedom (possibly fractional), which show how certain it is. */
export interface VarianceEstimate {
  variance: number;
  degreesOfFreedom: number;
}

/** The median absolute deviation of a normal distribution with deviation 1 is 1 / 1.4826. */
const deviationsPerMad = 1.4826;

/** For two estimates of a normal deviation: Var(standard deviation) / Var(median absolute deviation, scaled). */
const madEfficiency = 0.37;

/** Largest distance from the centre at which a sample counts fully, in deviations. */
const reach = 3;

/** E[min(z², reach²)] of a standard normal z at a reach of 3: the variance that winsorizing leaves. */
const keptVariance = 0.995;

/**
 * The variance of samples in groups with different centres, from the median absolute deviation about each group's
 * median: up to half of the samples may be outliers. With the small-sample correction of C. Croux and P. J. Rousseeuw
 * ("Time-efficient algorithms for two highly robust estimators of scale", 1992), n / (n - 0.8) per group. Its degrees
 * of freedom are those of an equally uncertain standard deviation. Groups of one sample say nothing; null if there are
 * no others.
 */
export function robustVariance(groups: readonly (readonly number[])[]): VarianceEstimate | null {
  const deviations: number[] = [];
  let usable = 0;
  for (const group of groups) {
    if (group.length < 2) continue;
    ++usable;
    const centre = median(group);
    for (const value of group) deviations.push(Math.abs(value - centre));
  }
  const count = deviations.length;
  if (count === 0) return null;
  const middle = median(deviations);
  if (middle === 0) {
    // If half of the samples are ties, their equality says nothing about the others.
    const squares = deviations.reduce((sum, deviation) => sum + deviation ** 2, 0);
    return { variance: squares / (count - usable), degreesOfFreedom: count - usable };
  }
  const correction = count / (count - 0.8 * usable);
  return {
    variance: (middle * deviationsPerMad * correction) ** 2,
    degreesOfFreedom: (count - usable) * madEfficiency,
  };
}

/** Mean and scatter of samples after outliers were moved closer. */
interface WinsorizedMoments {
  mean: number;
  /** Sum of squares about the mean, scaled so that its expectation for normal samples is (n - 1) variances. */
  sumOfSquares: number;
}

/**
 * Mean and scatter of the samples after those farther than 3 deviations from their median were moved to that distance;
 * `variance` is the square of a deviation. An outlier counts, but with a limit (J. W. Tukey and D. H. McLaughlin, "Less
 * vulnerable confidence and significance procedures for location based on a single sample", Sankhya A 25, 1963).
 */
export function winsorizedMoments(samples: readonly number[], variance: number): WinsorizedMoments {
  const centre = median(samples);
  const most = reach * Math.sqrt(variance);
  const near = samples.map((value) => Math.max(centre - most, Math.min(centre + most, value)));
  return { mean: mean(near), sumOfSquares: squaresAboutMean(near) / keptVariance };
}

/** Above this the prior is practically certain; finite, so that sums of degrees of freedom are too. */
const mostDegreesOfFreedom = 1e4;

/**
 * The scaled inverse chi-square distribution of the true variances of similar things, fitted to their estimates by the
 * moments of log variance (G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential
 * expression in microarray experiments", Statistical Applications in Genetics and Molecular Biology 3, 2004, section
 * 6.2). Estimates of zero variance or no degrees of freedom do not count. Null if fewer than two remain.
 */
export function fitVariancePrior(estimates: readonly VarianceEstimate[]): VarianceEstimate | null {
  const usable = estimates.filter(({ variance, degreesOfFreedom }) => variance > 0 && degreesOfFreedom > 0);
  if (usable.length < 2) return null;
  const e = usable.map(
    ({ variance, degreesOfFreedom: d }) => Math.log(variance) - digamma(d / 2) + Math.log(d / 2),
  );
  const centre = mean(e);
  const scatter = squaresAboutMean(e) / (e.length - 1);
  const excess = scatter - mean(usable.map(({ degreesOfFreedom: d }) => trigamma(d / 2)));
  // No more scatter than among estimates of a single variance.
  if (!(excess > 0)) return { variance: Math.exp(centre), degreesOfFreedom: mostDegreesOfFreedom };
  const degreesOfFreedom = Math.min(mostDegreesOfFreedom, 2 * trigammaInverse(excess));
  const variance = Math.exp(centre + digamma(degreesOfFreedom / 2) - Math.log(degreesOfFreedom / 2));
  return { variance, degreesOfFreedom };
}

/**
 * An estimate of a variance, moderated by the prior of its kind: the mean of both, weighted by their degrees of
 * freedom, which add up (Smyth, 2004, as above).
 */
export function moderate(own: VarianceEstimate, prior: VarianceEstimate): VarianceEstimate {
  const degreesOfFreedom = own.degreesOfFreedom + prior.degreesOfFreedom;
  return {
    variance:
      (own.degreesOfFreedom * own.variance + prior.degreesOfFreedom * prior.variance) / degreesOfFreedom,
    degreesOfFreedom,
  };
}
