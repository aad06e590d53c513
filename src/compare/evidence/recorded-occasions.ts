import { areRecorded } from "../../results/recorded-spread.js";
import type { VarianceEstimate } from "../../stats/variance.js";
import type { Series } from "../series.js";
import type { OccasionNoise } from "./occasion-noise.js";

/**
 * What recordings on GPUs say of the noise between occasions and of the host's part in it, for comparisons whose own runs
 * are too few to tell. By kind of memory.
 */

/**
 * Noise between occasions on which a baseline was measured, without what the host's memory explains: between three machines
 * with an NVIDIA H200 each, minutes apart (results/nvidia-h200/occasions.json; `node bench/regress/recorded-occasions.mjs`
 * prints these lines and the slopes). It says little of another machine, and kinds that were not recorded are absent.
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
 * GPUs that were not recorded are taken to vary by twice as much: by four times in the variance. So are the copies of
 * recorded ones that go by the CPU, in what an occasion does to all of them: three machines' memory says little of the next.
 */
export const varianceFactorOfBound = 4;

/** Where nothing was recorded, a bound is surer than the estimate that it was made of: it is as good as five occasions. */
const degreesOfBound = 4;

/**
 * The recorded kind that stands for a kind of cells. Copies that the device makes by itself are like pinned ones; in
 * latencies of single copies, and beside a load, the CPU has its part as in pageable ones.
 */
export function standInFor(cell: { memory: string; beside?: unknown }, unit: Series["unit"]): string {
  if (cell.memory === "staged" || cell.memory === "host") return cell.memory;
  const isOfCpu =
    cell.memory === "pageable" || cell.memory === "mapped" || unit === "us" || cell.beside !== undefined;
  return isOfCpu ? "pageable" : "pinned";
}

/**
 * The noise between occasions that a series starts from, until its own runs show it: a bound from the recorded kind that is
 * most like it.
 */
export function startingOccasionNoise(
  series: Pick<Series, "cell" | "unit">,
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

/** The estimate of a variance `factor` times as large, and as certain. */
export function times({ variance, degreesOfFreedom }: VarianceEstimate, factor: number): VarianceEstimate {
  return { variance: variance * factor, degreesOfFreedom };
}

/** How many percent a kind's copies lose for each percent that the host's own copies lose: 0 to 1. */
export interface HostSlope {
  slope: number;
  /** Of the slope, as an estimate. */
  variance: number;
}

/** How much of a change of the host's own copies pageable and staged copies show. */
export const recordedHostSlopes: Readonly<Record<string, HostSlope>> = {
  pageable: { slope: 1, variance: 0.01 },
  staged: { slope: 1, variance: 0.01 },
};
