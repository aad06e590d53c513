import type { VarianceEstimate } from "../stats/variance.js";

/**
 * The noise of a GPU, outliers included, by kind: what to fall back on where the compared runs say nothing of their
 * own. From 45 processes on an NVIDIA H200 (results/nvidia-h200/noise.json; `node bench/regress/recorded-spread.mjs`
 * prints these lines); it says little of another machine, and kinds that were not recorded are absent.
 *
 * Variance and degrees of freedom are made as in `outlierSpread()` of compare/noise.ts. `fitVariancePrior()` would
 * leave 1.3 to 2.2 degrees of freedom: most cells of a kind are far quieter than a few, its logarithms weigh the quiet
 * ones, and a pinned cell would have to lose 44 % before one run could be called slower than another. With these values
 * none of the recorded runs is slower than another, and a pinned cell that loses 10 % is found; a pageable cell must
 * lose a third and a staged one two thirds, for single processes are off by nearly as much.
 */
export const recordedSpread: Readonly<Record<string, VarianceEstimate>> = {
  pageable: { variance: 1.08e-3, degreesOfFreedom: 6.9 },
  staged: { variance: 3.36e-3, degreesOfFreedom: 5.0 },
  pinned: { variance: 1.88e-6, degreesOfFreedom: 4.4 },
};

/** GPUs that the recordings cover: of another one, single runs say nothing of how far the next may be. */
const recordedGpus: readonly string[] = ["NVIDIA H200"];

/** Whether what was recorded stands for runs on these devices, of which there is at least one. */
export function areRecorded(deviceNames: readonly string[]): boolean {
  return deviceNames.length > 0 && deviceNames.every((name) => recordedGpus.includes(name));
}
