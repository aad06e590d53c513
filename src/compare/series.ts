import type { CellComparison } from "./comparison.js";
import type { ComparedRuns } from "./match-devices.js";
import type { Absence, CellFigures } from "./result-set.js";
import { groupBySession } from "./sessions.js";

export interface RunFigure {
  run: number;
  /** Index of its session, from `groupBySession()`. */
  session: number;
  /** Logarithm of the median speed, in GB/s or 1/µs. */
  logSpeed: number;
  /** Logarithm of bytes over seconds, which slow copies lower, unlike the median; null if unknown. */
  logSpeedOverTime: number | null;
  /** Variance of `logSpeed`, from the run's own samples; 0 if unknown. */
  sampleVariance: number;
}

/** What is compared: a cell, one direction of a bidir cell or their sum. Figures are in the order of measurement. */
export interface Series extends Pick<CellComparison, "moved" | "unit"> {
  cell: CellFigures["cell"];
  baseline: RunFigure[];
  first: RunFigure[];
  /** Figures of the candidate's fresh runs. */
  fresh: RunFigure[];
  /** Why a run of the candidate has no figure; null if all have one. */
  absence: Absence | null;
}

interface JoinedRuns {
  series: Series[];
  failures: string[];
  hasWrongData: boolean;
}

/** Joins runs by cell id, in order of first appearance. */
export function joinRuns(runs: ComparedRuns): JoinedRuns {
  const joined = new Map<string, Series>();
  const absences = new Map<string, Absence>();
  for (const side of ["baseline", "first", "fresh"] as const) {
    const sessions = groupBySession(runs[side]);
    for (const [run, one] of runs[side].entries()) {
      const session = sessions.findIndex((members) => members.includes(one));
      for (const { cell, figures, absence } of one.cells) {
        if (absence !== null && side !== "baseline") {
          absences.set(cell.id, worse(absences.get(cell.id), absence));
        }
        for (const { moved, unit, value, lostShare = null, sampleVariance = 0 } of figures) {
          const key = `${cell.id} ${moved} ${unit}`;
          const series = joined.get(key) ?? {
            cell,
            moved,
            unit,
            baseline: [],
            first: [],
            fresh: [],
            absence: null,
          };
          joined.set(key, series);
          const logSpeed = unit === "us" ? -Math.log(value) : Math.log(value);
          const logSpeedOverTime = lostShare === null ? null : logSpeed + Math.log1p(-lostShare);
          series[side].push({ run, session, logSpeed, logSpeedOverTime, sampleVariance });
        }
      }
    }
  }
  return {
    series: [...joined.values()].map((one) => ({ ...one, absence: absences.get(one.cell.id) ?? null })),
    failures: [...absences].flatMap(([id, { failure, reason }]) =>
      failure === null ? [] : [`${id}: ${reason}`],
    ),
    hasWrongData: [...absences.values()].some(({ failure }) => failure === "mismatch"),
  };
}

function worse(earlier: Absence | undefined, later: Absence): Absence {
  const weight = { none: 0, failed: 1, mismatch: 2 };
  const of = ({ failure }: Absence) => weight[failure ?? "none"];
  return earlier !== undefined && of(earlier) >= of(later) ? earlier : later;
}

/** Digits of a figure that its logarithm preserves. */
const digits = 12;

/** The figure for a logarithm of speed, in GB/s or µs. */
export function figureOf({ unit }: Pick<Series, "unit">, logSpeed: number): number {
  return Number(Math.exp(unit === "us" ? -logSpeed : logSpeed).toPrecision(digits));
}
