import { mean, squaresAboutMean, type VarianceEstimate } from "../stats/variance.js";

/** Runs below which a side has no robust centre: one outlier of one or two runs is that side's figure. */
export const fewestForCentre = 3;

/** Degrees of freedom, in all cells of a kind, from which their spread is taken. */
const fewestDegrees = 20;

/**
 * The variance of one process's logarithm with its outliers, for a kind of memory: every cell of the kind may have
 * those that any of them had. Takes the mean of the cells' variances (within their groups), with the degrees of
 * freedom of a scaled inverse chi-square distribution whose coefficient of variation c the cells' variances have,
 * 4 + 2 / c²; or the recorded spread, if that is larger. Null where neither is known.
 */
export function outlierSpread(
  cells: readonly (readonly (readonly number[])[])[],
  recorded: VarianceEstimate | null,
): VarianceEstimate | null {
  const own = cells.map(pooledVariance).filter((estimate) => estimate !== null);
  const degrees = own.reduce((sum, { degreesOfFreedom }) => sum + degreesOfFreedom, 0);
  if (degrees < fewestDegrees || own.length < 2) return recorded;
  const variance = mean(own.map((estimate) => estimate.variance));
  const scatter = mean(own.map((estimate) => (estimate.variance - variance) ** 2));
  const these = {
    variance,
    degreesOfFreedom: scatter === 0 ? degrees : Math.min(degrees, 4 + (2 * variance ** 2) / scatter),
  };
  return recorded !== null && recorded.variance > these.variance ? recorded : these;
}

function pooledVariance(groups: readonly (readonly number[])[]): VarianceEstimate | null {
  const usable = groups.filter(({ length }) => length > 1);
  const degreesOfFreedom = usable.reduce((sum, { length }) => sum + length - 1, 0);
  if (degreesOfFreedom === 0) return null;
  const squares = usable.reduce((sum, group) => sum + squaresAboutMean(group), 0);
  return { variance: squares / degreesOfFreedom, degreesOfFreedom };
}
