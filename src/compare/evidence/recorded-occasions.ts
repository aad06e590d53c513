import { areRecorded } from "../../results/claimed-interval.js";
import type { VarianceEstimate } from "../../stats/variance.js";
import type { CellComparison } from "../comparison.js";
import type { OccasionNoise } from "./occasion-noise.js";

/**
 * Recorded noise between occasions and recorded effect of the host, by kind of memory, for comparisons with too few
 * runs of their own.
 */

/**
 * Noise between a baseline's occasions without the host's part: between three machines with an NVIDIA H200 each,
 * minutes apart (results/nvidia-h200/occasions.json; `node bench/regress/recorded-occasions.mjs` prints these lines and
 * the slopes). It says little about other machines. Kinds that were not recorded are absent.
 */
export const recordedOccasionNoise: Readonly<Record<string, OccasionNoise>> = {
  pageable: {
    shared: { variance: 1.2e-4, degreesOfFreedom: 2 },
    own: { variance: 1.9e-3, degreesOfFreedom: 14 },
  },
  staged: {
    shared: { variance: 3.2e-4, degreesOfFreedom: 2 },
    own: { variance: 8.5e-4, degreesOfFreedom: 14 },
  },
  pinned: {
    shared: { variance: 1.2e-6, degreesOfFreedom: 2 },
    own: { variance: 1.1e-5, degreesOfFreedom: 14 },
  },
  host: {
    shared: { variance: 5.9e-3, degreesOfFreedom: 2 },
    own: { variance: 3.8e-3, degreesOfFreedom: 6 },
  },
};

/**
 * Factor on the variance for GPUs that were not recorded: four, twice the deviation. It also applies to the shared
 * noise of copies through the CPU on recorded GPUs, because three machines' memory says little about the next one's.
 */
export const varianceFactorOfBound = 4;

/** A bound is more certain than the estimate behind it: it counts like five occasions. */
const degreesOfBound = 4;

/**
 * The recorded kind that replaces a kind of cells. Copies that the device makes by itself are like pinned ones. In
 * single-copy latencies and beside a load, the CPU takes part as in pageable ones.
 */
export function standInFor(cell: { memory: string; beside?: unknown }, unit: CellComparison["unit"]): string {
  if (cell.memory === "staged" || cell.memory === "host") return cell.memory;
  const isOfCpu =
    cell.memory === "pageable" || cell.memory === "mapped" || unit === "us" || cell.beside !== undefined;
  return isOfCpu ? "pageable" : "pinned";
}

/**
 * The initial noise between occasions of a series, until its own runs show it: a bound from the most similar recorded
 * kind.
 */
export function startingOccasionNoise(
  series: Pick<CellComparison, "unit"> & { cell: Parameters<typeof standInFor>[0] },
  deviceNames: readonly string[],
): OccasionNoise {
  const kind = standInFor(series.cell, series.unit);
  const { shared, own } = recordedOccasionNoise[kind]!;
  if (areRecorded(deviceNames)) {
    return { shared: kind === "pinned" ? shared : times(shared, varianceFactorOfBound), own };
  }
  const bound = (estimate: VarianceEstimate) => ({
    ...times(estimate, varianceFactorOfBound),
    degreesOfFreedom: Math.max(degreesOfBound, estimate.degreesOfFreedom),
  });
  return { shared: bound(shared), own: bound(own) };
}

/** The estimate with its variance multiplied by `factor`, and the same certainty. */
export function times({ variance, degreesOfFreedom }: VarianceEstimate, factor: number): VarianceEstimate {
  return { variance: variance * factor, degreesOfFreedom };
}

/** Percent that a kind's copies lose for each percent that the host's own copies lose: 0 to 1. */
export interface HostSlope {
  slope: number;
  /** Variance of the slope's estimate. */
  variance: number;
}

/** The recorded share of a change of the host's own copies that pageable and staged copies show. */
export const recordedHostSlopes: Readonly<Record<string, HostSlope>> = {
  pageable: { slope: 1, variance: 0.01 },
  staged: { slope: 1, variance: 0.01 },
};
