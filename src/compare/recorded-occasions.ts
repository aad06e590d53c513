import type { OccasionNoise } from "./occasion-noise.js";

/**
 * What recordings on GPUs say of the noise between occasions and of the host's part in it, for comparisons whose own runs
 * are too few to tell. By kind of memory.
 */

/** Noise between occasions. */
export const recordedOccasionNoise: Readonly<Record<string, OccasionNoise>> = {};

/** How many percent a kind's copies lose for each percent that the host's own copies lose: 0 to 1. */
export interface HostSlope {
  slope: number;
  /** Of the slope, as an estimate. */
  variance: number;
}

/** How much of a change of the host's own copies pageable and staged copies show. */
export const recordedHostSlopes: Readonly<Record<string, HostSlope>> = {
  pageable: { slope: 0.93, variance: 0.01 },
  staged: { slope: 0.98, variance: 0.01 },
};
