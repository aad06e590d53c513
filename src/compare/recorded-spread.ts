import type { VarianceEstimate } from "../stats/variance.js";

/**
 * How much the logarithm of a cell's median varies between fresh processes, outliers included, by memory kind: to
 * fall back on where the compared runs say nothing of their own spread. From 45 processes on an NVIDIA H200
 * (results/nvidia-h200/noise.json; `node bench/regress/recorded-spread.mjs` prints these lines); it says little of
 * another machine, and kinds that were not recorded are absent.
 *
 * The variance is the mean of the cells' variances. The degrees of freedom, 4 + 2 / c² where c is the coefficient of
 * variation of the cells' variances, are those of a scaled inverse chi-square distribution that scatters as much.
 * `fitVariancePrior` would leave 1.3 to 2.2 of them: most cells of a kind are far quieter than a few, its logarithms
 * weigh the quiet ones, and a pinned cell would have to lose 44 % before one run could be called slower than
 * another. With these, none of the recorded runs is slower than another, and a pinned cell that loses 10 % is found;
 * of a pageable cell a third, of a staged one two thirds must be lost: single processes are off by nearly as much.
 */
export const recordedSpread: Readonly<Record<string, VarianceEstimate>> = {
  pageable: { variance: 1.08e-3, degreesOfFreedom: 6.9 },
  staged: { variance: 3.36e-3, degreesOfFreedom: 5.0 },
  pinned: { variance: 1.88e-6, degreesOfFreedom: 4.4 },
};
