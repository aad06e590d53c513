import type { CellComparison } from "./comparison.js";
import { hostRates } from "./evidence/host-rate.js";
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
}

type Group = "baseline" | "first" | "fresh";

/** Joins runs by cell id, in the order of first appearance. */
export function joinRuns(runs: Readonly<Record<Group, readonly RunFigures[]>>): JoinedRuns {
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
        const mustBeTold = absence !== null && group !== "baseline" && !absences.get(cell.id)?.isFailure;
        if (mustBeTold) absences.set(cell.id, absence);
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
    failures: [...absences].flatMap(([id, { isFailure, reason }]) => (isFailure ? [`${id}: ${reason}`] : [])),
  };
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
