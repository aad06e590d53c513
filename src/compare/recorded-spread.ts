import type { VarianceEstimate } from "../stats/variance.js";
import type { OccasionNoise } from "./occasion-noise.js";

/** What recordings on GPUs say of noise, for comparisons whose own runs are too few to tell. By kind of memory. */

/**
 * The noise of one run's median on GPUs that were recorded, outliers included; by the name of the GPU. From 45
 * processes on an NVIDIA H200 (results/nvidia-h200/noise.json; `node bench/regress/recorded-spread.mjs`
 * prints these lines); it says little of another machine, and kinds that were not recorded are absent.
 *
 * Variance and degrees of freedom are made as in `outlierSpread()`. `fitVariancePrior()` would leave 1.3 to 2.2
 * degrees of freedom: most cells of a kind are far quieter than a few, its logarithms weigh the quiet ones, and a
 * pinned cell would have to lose 44 % before one run could be called slower than another. With these values none of
 * the recorded runs is slower than another, and a pinned cell that loses 10 % is found; a pageable cell must lose a
 * third and a staged one two thirds, for single processes are off by nearly as much.
 */
const recordedSpreads: Readonly<Record<string, Readonly<Record<string, VarianceEstimate>>>> = {
  "NVIDIA H200": {
    pageable: { variance: 1.08e-3, degreesOfFreedom: 6.9 },
    staged: { variance: 3.36e-3, degreesOfFreedom: 5.0 },
    pinned: { variance: 1.88e-6, degreesOfFreedom: 4.4 },
  },
};

/** The recorded noise by kind, for runs on these devices; null where one of them was not recorded. */
export function recordedSpreadOf(
  deviceNames: readonly string[],
): Readonly<Record<string, VarianceEstimate>> | null {
  const [name, ...others] = new Set(deviceNames);
  return name === undefined || others.length > 0 ? null : (recordedSpreads[name] ?? null);
}

/** Noise between occasions. */
export const recordedOccasionNoise: Readonly<Record<string, OccasionNoise>> = {};

/** How many percent a kind's copies lose for each percent that the host's own copies lose: 0 to 1. */
export interface HostSlope {
  slope: number;
  /** Of the slope, as an estimate. */
  variance: number;
}

/** How much of a change of the host's own copies pageable and staged copies show. */
export const recordedHostSlopes: Readonly<Record<string, HostSlope>> = {};
