import type { Absence, CellParameters, RunFigures } from "./figures.js";

/** One thing that is compared, with its figures from every process, in the order in which they ran. */
export interface Series {
  cell: CellParameters;
  moved: "h2d" | "d2h" | "d2d" | "sum";
  unit: "GB/s" | "us";
  baseline: number[];
  /** The candidate's first processes. */
  first: number[];
  /** Fresh processes that measured suspects again. */
  fresh: number[];
  /** Why the candidate (its first processes or the fresh ones) lacks a figure somewhere; null where it does not. */
  absence: Absence | null;
}

export interface JoinedRuns {
  series: Series[];
  /** What failed in the candidate, whether or not the baseline has that cell: ids with reasons. */
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
        const isNews = absence !== null && group !== "baseline" && !absences.get(cell.id)?.isFailure;
        if (isNews) absences.set(cell.id, absence);
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
