import { mean, squaresAboutMean } from "./mean.js";
import { median } from "./median.js";
import type { VarianceEstimate } from "./variance-prior.js";

/** The median absolute deviation of a normal distribution of deviation 1 is 1 / 1.4826. */
const deviationsPerMad = 1.4826;

/** Var(median absolute deviation) against Var(standard deviation) for normal samples. */
const madEfficiency = 0.37;

/** How far from the centre a sample may count, in deviations. */
const reach = 3;

/** E[min(z², reach²)] of a standard normal z at a reach of 3: what winsorizing leaves of its variance. */
const keptVariance = 0.995;

/**
 * The variance of samples in groups of unequal centres, from the median absolute deviation about each group's
 * median: up to half of the samples may be outliers. With the correction for few samples of C. Croux and
 * P. J. Rousseeuw ("Time-efficient algorithms for two highly robust estimators of scale", 1992), n / (n - 0.8)
 * a group. Its degrees of freedom are those of a standard deviation that is as uncertain. Groups of one sample say
 * nothing; null where there are no others.
 */
export function robustVariance(groups: readonly (readonly number[])[]): VarianceEstimate | null {
  const usable = groups.filter(({ length }) => length > 1);
  if (usable.length === 0) return null;
  const deviations = usable.flatMap((group) => {
    const centre = median(group);
    return group.map((value) => Math.abs(value - centre));
  });
  const count = deviations.length;
  const middle = median(deviations);
  if (middle === 0) {
    // Half of the samples are ties: that they are equal says nothing of the others.
    const squares = deviations.reduce((sum, deviation) => sum + deviation ** 2, 0);
    return { variance: squares / (count - usable.length), degreesOfFreedom: count - usable.length };
  }
  const correction = count / (count - 0.8 * usable.length);
  return {
    variance: (middle * deviationsPerMad * correction) ** 2,
    degreesOfFreedom: (count - usable.length) * madEfficiency,
  };
}

export interface WinsorizedMoments {
  mean: number;
  /** Sum of squares about the mean, scaled so that for normal samples its expectation is (n - 1) variances. */
  sumOfSquares: number;
}

/**
 * Mean and scatter of the samples, those farther than 3 deviations from their median being moved there: an outlier
 * counts, but no more than that (J. W. Tukey and D. H. McLaughlin, "Less vulnerable confidence and significance
 * procedures for location based on a single sample", Sankhya A 25, 1963).
 */
export function winsorizedMoments(samples: readonly number[], variance: number): WinsorizedMoments {
  const centre = median(samples);
  const most = reach * Math.sqrt(variance);
  const near = samples.map((value) => Math.max(centre - most, Math.min(centre + most, value)));
  return { mean: mean(near), sumOfSquares: squaresAboutMean(near) / keptVariance };
}
