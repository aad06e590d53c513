import { mean, squaresAboutMean } from "../../stats/variance.js";
import type { RunFigures } from "../result-set.js";

/** Rate of the CPU's own copies of host memory in each run: one figure from all `host` cells. */
export interface HostRates {
  /** Logarithms, by run and then by device; absent if a cell of the device was not measured. */
  logSpeeds: ReadonlyMap<RunFigures, ReadonlyMap<number, number>>;
  /** Error variance of such a logarithm, from the disagreement of the cells; that of the device with the largest. */
  errorVariance: number;
}

/**
 * Degrees of freedom that the mean variance of all cells has in each cell's, because few runs say little about one
 * cell.
 */
const sharedDegrees = 4;

/**
 * The host's rates from runs in consecutive groups. All directions and worker counts use the same host memory, so a
 * rate is a mean over the cells, weighted by the inverse of their variances within the groups: some are several times
 * as noisy as others. Only cells of every run count, so that all rates are comparable.
 */
export function hostRates(groups: readonly (readonly RunFigures[])[]): HostRates {
  const runs = groups.flat();
  const logSpeeds = new Map(runs.map((run) => [run, new Map<number, number>()]));
  let errorVariance = 0;
  const logsOf = new Map(runs.map((run) => [run, hostLogs(run)]));
  const devices = new Set(runs.flatMap((run) => [...logsOf.get(run)!.values()].map(({ device }) => device)));
  for (const device of devices) {
    const ids = [...logsOf.get(runs[0]!)!]
      .filter(([id, one]) => one.device === device && runs.every((run) => logsOf.get(run)!.has(id)))
      .map(([id]) => id);
    if (ids.length === 0) continue;
    const logs = (id: string, some: readonly RunFigures[]) =>
      some.map((run) => logsOf.get(run)!.get(id)!.log);
    const weights = weightsOf(ids.map((id) => groups.map((group) => logs(id, group))));
    const rates = runs.map((run) =>
      ids.reduce((sum, id, i) => sum + weights[i]! * logsOf.get(run)!.get(id)!.log, 0),
    );
    for (const [i, run] of runs.entries()) logSpeeds.get(run)!.set(device, rates[i]!);
    // The remainder of a cell after the run's rate is error, except for the cell's own share in that rate.
    const errors = ids.map((id, i) => {
      const weight = weights[i]!;
      const left = logs(id, runs).map((log, run) => log - rates[run]!);
      const variance = squaresAboutMean(left) / Math.max(1, runs.length - 1);
      return weight < 1 ? (weight ** 2 * variance) / (1 - weight) : 0;
    });
    errorVariance = Math.max(
      errorVariance,
      errors.reduce((sum, error) => sum + error, 0),
    );
  }
  return { logSpeeds, errorVariance };
}

function hostLogs({ cells }: RunFigures): Map<string, { device: number; log: number }> {
  return new Map(
    cells
      .filter(({ cell, figures }) => cell.memory === "host" && figures.length > 0)
      .map(({ cell, figures }) => [cell.id, { device: cell.device, log: Math.log(figures[0]!.value) }]),
  );
}

/** For each cell (its logarithms in groups): the inverse of its variance, as a share of their sum. */
function weightsOf(cells: readonly (readonly (readonly number[])[])[]): number[] {
  const own = cells.map((groups) => {
    const usable = groups.filter(({ length }) => length > 1);
    const degrees = usable.reduce((sum, { length }) => sum + length - 1, 0);
    return { squares: usable.reduce((sum, group) => sum + squaresAboutMean(group), 0), degrees };
  });
  const shared = mean(own.map(({ squares, degrees }) => (degrees === 0 ? 0 : squares / degrees)));
  if (shared === 0) return cells.map(() => 1 / cells.length);
  const inverses = own.map(
    ({ squares, degrees }) => (degrees + sharedDegrees) / (squares + sharedDegrees * shared),
  );
  const total = inverses.reduce((sum, inverse) => sum + inverse, 0);
  return inverses.map((inverse) => inverse / total);
}
