import { type MeasuredSettings, settingsOfResult } from "../results/run-settings.js";
import type { CellResult, CellStats, ResultDocument } from "../results/schema.js";

/** A run as a comparison sees it: a figure a cell, without the samples, of which a folder of runs has millions. */
export interface RunFigures {
  /** Of the run, to tell a copy of it from another one. */
  id: string;
  /** Null where it was measured just now. */
  path: string | null;
  startedAt: string;
  status: ResultDocument["run"]["status"];
  /** The tool that measured it, where that was not pinbench. */
  importedFrom: string | null;
  backend: ResultDocument["backend"];
  pinbenchVersion: string;
  deviceNames: string[];
  fingerprint: ResultDocument["fingerprint"];
  settings: MeasuredSettings | null;
  /** Of the cells that are not measured on the device alone; null where it is not known. */
  lastLevelCacheBytes: number | null;
  cells: CellFigures[];
}

export type CellParameters = Pick<
  CellResult,
  "id" | "device" | "direction" | "memory" | "sizeBytes" | "workers" | "mode" | "timer" | "cache"
>;

export interface CellFigures {
  cell: CellParameters;
  /** Medians of this run's samples; none where the cell has no figure. */
  figures: CellFigure[];
  /** Why it has none. */
  absence: Absence | null;
}

export interface CellFigure {
  moved: CellStats["direction"];
  unit: "GB/s" | "us";
  value: number;
}

export interface Absence {
  /** A failure is one of the machine; what was skipped or interrupted is not. */
  isFailure: boolean;
  reason: string;
}

/** What a comparison needs of a result. `path` is what messages call it; null where it was measured just now. */
export function runFigures(document: ResultDocument, path: string | null): RunFigures {
  return {
    id: document.run.id,
    path,
    startedAt: document.run.startedAt,
    status: document.run.status,
    importedFrom: document.importedFrom?.tool ?? null,
    backend: document.backend,
    pinbenchVersion: document.tool.version,
    deviceNames: document.devices.map(({ name }) => name),
    fingerprint: document.fingerprint,
    settings: settingsOfResult(document),
    lastLevelCacheBytes: document.host?.lastLevelCacheBytes ?? null,
    cells: document.cells.map((cell) => cellFigures(cell, document.run)),
  };
}

function cellFigures(cell: CellResult, run: ResultDocument["run"]): CellFigures {
  const { id, device, direction, memory, sizeBytes, workers, mode, timer, cache } = cell;
  const absence = absenceOf(cell, run);
  return {
    cell: { id, device, direction, memory, sizeBytes, workers, mode, timer, cache },
    figures: absence === null ? figuresOf(cell) : [],
    absence,
  };
}

function absenceOf(
  { outcome, error, skipReason }: CellResult,
  run: Pick<ResultDocument["run"], "status" | "error">,
): Absence | null {
  switch (outcome) {
    case "converged":
    case "budget":
      return null;
    case "mismatch":
      return { isFailure: true, reason: "the data came back wrong" };
    case "failed":
      return { isFailure: true, reason: `it failed: ${error?.message ?? "no reason is known"}` };
    case "skipped":
      return { isFailure: false, reason: `it was skipped: ${skipReason ?? "no reason is known"}` };
    case null:
      // A device that could not be opened has no cell to blame, and must not pass for one that was left out.
      if (run.status === "failed") {
        return { isFailure: true, reason: `its run failed: ${run.error?.message ?? "no reason is known"}` };
      }
      return { isFailure: false, reason: "its run ended before it was measured" };
  }
}

/** One figure a cell; of bidir cells one a direction, and for throughput their sum. */
function figuresOf({ stats, mode }: CellResult): CellFigure[] {
  return stats.flatMap(({ direction, bandwidthGBps, latencyUs }): CellFigure[] => {
    if (mode === "throughput") return [{ moved: direction, unit: "GB/s", value: bandwidthGBps.median }];
    return latencyUs === null ? [] : [{ moved: direction, unit: "us", value: latencyUs.median }];
  });
}
