import { digamma, trigamma, trigammaInverse } from "./gamma.js";
import { mean, squaresAboutMean } from "./mean.js";

/** What is known of a variance: its size, and with how many degrees of freedom. */
export interface VarianceEstimate {
  variance: number;
  degreesOfFreedom: number;
}

/** Above this the prior is as good as certain; kept finite, so that sums of degrees of freedom stay so. */
const mostDegreesOfFreedom = 1e4;

/**
 * The scaled inverse chi-square distribution that the true variances of similar things come from, fitted to their
 * estimates by the moments of log variance (G. K. Smyth, "Linear models and empirical Bayes methods for assessing
 * differential expression in microarray experiments", Statistical Applications in Genetics and Molecular Biology 3,
 * 2004, section 6.2). Estimates of zero variance or no degrees of freedom do not take part. Null where fewer than
 * two remain.
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
  // No more scatter than estimates of one and the same variance have.
  if (!(excess > 0)) return { variance: Math.exp(centre), degreesOfFreedom: mostDegreesOfFreedom };
  const degreesOfFreedom = Math.min(mostDegreesOfFreedom, 2 * trigammaInverse(excess));
  const variance = Math.exp(centre + digamma(degreesOfFreedom / 2) - Math.log(degreesOfFreedom / 2));
  return { variance, degreesOfFreedom };
}

/** The estimate after it has been pulled towards its prior, each by its degrees of freedom. */
export function moderate(own: VarianceEstimate, prior: VarianceEstimate): VarianceEstimate {
  const degreesOfFreedom = own.degreesOfFreedom + prior.degreesOfFreedom;
  return {
    variance:
      (own.degreesOfFreedom * own.variance + prior.degreesOfFreedom * prior.variance) / degreesOfFreedom,
    degreesOfFreedom,
  };
}
