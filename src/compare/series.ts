import { mean, squaresAboutMean, sumOf } from "../stats/variance.js";
import type { CellComparison } from "./comparison.js";
import type { ComparedRuns } from "./match-devices.js";
import { groupByOccasion } from "./occasions.js";
import type { Absence, CellFigures, RunFigures } from "./result-set.js";

/** One run's figure of a series. */
export interface RunFigure {
  /** The median of the run's samples, in the series' unit. */
  value: number;
  /** Share of time lost to slow copies; null if unknown. */
  lostShare: number | null;
  startedAt: string;
  /** Index of its occasion on its side: `groupByOccasion()`. */
  occasion: number;
  /** Logarithm of the rate of the CPU's own copies of host memory in that run; null if not measured. */
  hostLogSpeed: number | null;
}

/**
 * The unit of comparison: a cell, or a direction of a bidir cell, or the sum of both. It has a figure for every run, in
 * the order of measuring.
 */
export interface Series extends Pick<CellComparison, "moved" | "unit"> {
  cell: CellFigures["cell"];
  baseline: RunFigure[];
  /** Of the candidate's first runs. */
  first: RunFigure[];
  /** Of the candidate's runs that measured the suspects again, to confirm. */
  fresh: RunFigure[];
  /** Why one of the candidate's runs has no figure; null if all have one. */
  absence: Absence | null;
}

/** All runs of a comparison, cell by cell. */
export interface JoinedRuns {
  series: Series[];
  /** Variance of the error of each run's `hostLogSpeed`. */
  hostErrorVariance: number;
  /** Failures in the candidate, also of cells that the baseline lacks: "id: reason". */
  failures: string[];
  /** Whether any of these is wrong data. */
  hasWrongData: boolean;
}

/** Joins runs by cell id, in the order of first appearance. */
export function joinRuns(runs: ComparedRuns): JoinedRuns {
  // Fresh runs that measured only suspects of other memory need no control, and do not affect that of other runs.
  const controlled = [...groupByOccasion(runs.baseline), runs.first, runs.fresh.filter(hasHostCells)];
  const rates = hostRates(controlled);
  const joined: Series[] = [];
  const ofCell = new Map<string, Series[]>();
  const absences = new Map<string, Absence>();
  for (const group of ["baseline", "first", "fresh"] as const) {
    for (const { run, occasion } of withOccasions(runs[group])) {
      const hostLogSpeeds = rates.logSpeeds.get(run);
      for (const { cell, figures, absence } of run.cells) {
        if (absence !== null && group !== "baseline") {
          absences.set(cell.id, worse(absences.get(cell.id), absence));
        }
        const hostLogSpeed = hostLogSpeeds?.get(cell.device) ?? null;
        for (const { moved, unit, value, lostShare = null } of figures) {
          const known = ofCell.get(cell.id) ?? [];
          if (known.length === 0) ofCell.set(cell.id, known);
          let series = known.find((one) => one.moved === moved && one.unit === unit);
          if (series === undefined) {
            series = { cell, moved, unit, baseline: [], first: [], fresh: [], absence: null };
            known.push(series);
            joined.push(series);
          }
          series[group].push({ value, lostShare, startedAt: run.startedAt, occasion, hostLogSpeed });
        }
      }
    }
  }
  return {
    series: joined.map((series) => ({
      ...series,
      absence: absences.get(series.cell.id) ?? null,
    })),
    hostErrorVariance: rates.errorVariance,
    failures: [...absences].flatMap(([id, { failure, reason }]) =>
      failure === null ? [] : [`${id}: ${reason}`],
    ),
    hasWrongData: [...absences.values()].some(({ failure }) => failure === "mismatch"),
  };
}

/** The worse of two reasons, of equal ones the earlier one. */
function worse(earlier: Absence | undefined, later: Absence): Absence {
  const weight = { none: 0, failed: 1, mismatch: 2 };
  const of = ({ failure }: Absence) => weight[failure ?? "none"];
  return earlier !== undefined && of(earlier) >= of(later) ? earlier : later;
}

function withOccasions(runs: readonly RunFigures[]): { run: RunFigures; occasion: number }[] {
  const occasions = new Map(
    groupByOccasion(runs).flatMap((group, occasion) => group.map((run) => [run, occasion] as const)),
  );
  return runs.map((run) => ({ run, occasion: occasions.get(run)! }));
}

function hasHostCells({ cells }: RunFigures): boolean {
  return cells.some(({ cell }) => cell.memory === "host");
}

/** The logarithm of a figure's speed: throughput, or the inverse of latency. */
export function logSpeed({ unit }: Pick<Series, "unit">, value: number): number {
  return unit === "us" ? -Math.log(value) : Math.log(value);
}

/** `logSpeed()` of each run's figure. */
export function logSpeeds(series: Pick<Series, "unit">, figures: readonly RunFigure[]): number[] {
  return figures.map(({ value }) => logSpeed(series, value));
}

/** The inverse of `logSpeed()`, in the series' unit. */
export function figureOf({ unit }: Pick<Series, "unit">, logSpeed: number): number {
  return Math.exp(unit === "us" ? -logSpeed : logSpeed);
}

/** Rate of the CPU's own copies of host memory in each run: one figure from all `host` cells. */
interface HostRates {
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
    errorVariance = Math.max(errorVariance, sumOf(errors));
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
  const total = sumOf(inverses);
  return inverses.map((inverse) => inverse / total);
}
