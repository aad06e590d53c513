import { PinbenchError } from "../errors.js";
import { announced, prepareRun } from "../measure/prepare.js";
import { Run } from "../measure/run.js";
import type { ResultDocument } from "../results/schema.js";
import { type Options, optionName } from "../settings/setting.js";
import { callNow, fillRunSettings, readOptions } from "../settings/settings.js";
import { runSettings, settingsInCellIds } from "../settings/table.js";
import { forCallers, gpuAlone } from "./for-callers.js";

/** What to measure and how: as `plan` in pinbench.config.json, but the default `backend` is "cuda". */
export type PlanOptions = Omit<Options<typeof runSettings>, "cells">;

export interface RunOptions extends PlanOptions {
  /** Only these cells, with their host controls, by their ids in results. */
  cells?: readonly string[];
  /** Ends the run early: its document has the results so far, and the status "aborted". */
  signal?: AbortSignal;
  /** Called before each measurement of a cell. */
  onProgress?: (progress: RunProgress) => void;
}

export interface RunProgress {
  /** Id of the cell that is being measured. */
  cell: string;
  /** Counted from 1. */
  round: number;
  /** Number of cells whose interval is narrow enough. */
  convergedCells: number;
  totalCells: number;
}

/**
 * Measures copies as `pinbench run` does, and returns the document of its --json. It prints nothing, and
 * reads no configuration and no arguments. A cell that fails does not reject: see the cell's `outcome`. Wrong
 * options or an unusable machine reject as a PinbenchError.
 */
export const run = forCallers(
  async ({ signal, onProgress, ...options }: RunOptions = {}): Promise<ResultDocument> => {
    const call = callNow();
    const requested = readOptions(runSettings, options);
    if (requested.cells !== undefined) {
      const both = settingsInCellIds.find((key) => requested[key] !== undefined);
      if (both !== undefined) {
        const name = optionName(runSettings[both].flag);
        throw new PinbenchError(
          "usage",
          `cells and ${name} exclude each other: a cell's id contains all of its settings.`,
        );
      }
    }
    const settings = fillRunSettings({ origin: "caller", values: requested });
    const prepared = await prepareRun({ ...settings, ...(requested.backend === undefined && gpuAlone) });
    const running = await announced(prepared, async (sharing) => {
      const begun = new Run({ ...call, ...prepared, sharing });
      await follow(begun, signal, onProgress);
      return begun;
    });
    return running.document();
  },
);

async function follow(running: Run, signal: RunOptions["signal"], onProgress: RunOptions["onProgress"]) {
  for await (const event of running.measure(signal ?? new AbortController().signal)) {
    if (event.kind !== "visit") continue;
    onProgress?.({
      cell: event.progress.cell.id,
      round: event.round + 1,
      convergedCells: running.cells.filter(({ outcome }) => outcome === "converged").length,
      totalCells: running.cells.length,
    });
  }
}
