import { mean, squaresAboutMean } from "../../stats/variance.js";
import type { RunFigures } from "../result-set.js";

/** How fast the CPU itself copied host memory in each run: the one figure that is made of the `host` cells. */
export interface HostRates {
  /** Logarithms, by run and then by device; a run or device that was not measured in all cells has none. */
  logSpeeds: ReadonlyMap<RunFigures, ReadonlyMap<number, number>>;
  /** Variance of the error that such a logarithm has, as the cells disagree; of the device where it is largest. */
  errorVariance: number;
}

/** So many degrees of freedom the mean variance of all cells has in each one's: few runs tell little of a cell's own. */
const sharedDegrees = 4;

/**
 * The host's rates from runs in groups that followed one another. The host's memory is one thing for all directions and
 * worker counts, so a rate is a mean over the cells, each weighted by the inverse of its variance within the groups: some
 * are several times as noisy as others. Only cells that every run has take part: others would make one run's rate another
 * thing than the next's.
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
    // What is left of a cell without the run's rate is error, but for the cell's own share in that rate.
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

/** For each cell (its logarithms in groups) the inverse of its variance, as a share of their sum. */
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
