import type { CellComparison } from "./comparison.js";
import type { Absence, CellFigures, RunFigures } from "./result-set.js";

/**
 * What is compared by itself: a cell, or a direction of a bidir cell, or the sum of both. It has the median of every
 * run, in its unit and in the order in which the runs were measured.
 */
export interface Series extends Pick<CellComparison, "moved" | "unit"> {
  cell: CellFigures["cell"];
  baseline: number[];
  /** Of the candidate's first runs. */
  first: number[];
  /** Of the candidate's runs that measured the suspects again, to confirm. */
  fresh: number[];
  /** Why one of the candidate's runs has no figure; null where they all have one. */
  absence: Absence | null;
}

/** All runs of a comparison, cell by cell. */
export interface JoinedRuns {
  series: Series[];
  /** What failed in the candidate, whether or not the baseline has that cell: "id: reason". */
  failures: string[];
}

type Group = "baseline" | "first" | "fresh";

/** Joins runs by the ids of their cells, in the order in which these first appear. */
export function joinRuns(runs: Readonly<Record<Group, readonly RunFigures[]>>): JoinedRuns {
  const joined = new Map<string, Series>();
  const absences = new Map<string, Absence>();
  for (const group of ["baseline", "first", "fresh"] as const) {
    for (const { cells } of runs[group]) {
      for (const { cell, figures, absence } of cells) {
        const mustBeTold = absence !== null && group !== "baseline" && !absences.get(cell.id)?.isFailure;
        if (mustBeTold) absences.set(cell.id, absence);
        for (const { moved, unit, value } of figures) {
          const key = `${cell.id} ${moved} ${unit}`;
          let series = joined.get(key);
          if (series === undefined) {
            series = { cell, moved, unit, baseline: [], first: [], fresh: [], absence: null };
            joined.set(key, series);
          }
          series[group].push(value);
        }
      }
    }
  }
  return {
    series: [...joined.values()].map((series) => ({
      ...series,
      absence: absences.get(series.cell.id) ?? null,
    })),
    failures: [...absences].flatMap(([id, { isFailure, reason }]) => (isFailure ? [`${id}: ${reason}`] : [])),
  };
}

/** Logarithms of speed: of throughput, or of the inverse of latency. */
export function logSpeeds({ unit }: Pick<Series, "unit">, figures: readonly number[]): number[] {
  return figures.map((value) => (unit === "us" ? -Math.log(value) : Math.log(value)));
}

/** The figure, in the series' unit, of which `logSpeed` is the logarithm of speed. */
export function figureOf({ unit }: Pick<Series, "unit">, logSpeed: number): number {
  return Math.exp(unit === "us" ? -logSpeed : logSpeed);
}

/** What shares its noise with a series: its kind of memory, and latency apart from throughput ("pinned latency"). */
export function kindOf({ cell, unit }: Pick<Series, "cell" | "unit">): string {
  return unit === "us" ? `${cell.memory} latency` : cell.memory;
}
