import type { HistoryDocument } from "../compare/history/history-document.js";
import { describeHistory } from "../compare/history/trends.js";
import { PinbenchError } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import { readHistory } from "../results/files/history-file.js";
import { commandSettings } from "../settings/command-settings.js";
import { readValue } from "../settings/settings.js";
import type { List } from "../settings/units.js";
import { refuseUnknown } from "./compare-function.js";
import { forCallers } from "./for-callers.js";

export interface HistoryOptions {
  /** The folder of `pinbench check --history`. */
  folder: string;
  /** Cell ids, or patterns in which `*` stands for any characters (default: the groups of cells). */
  cells?: List<string>;
}

/**
 * Describes the trend of past checks as `pinbench history` does, and returns the document of its --json. Rejects with
 * a PinbenchError if there is no history, or no such cell in it.
 */
export const history = forCallers(
  async ({ folder, cells, ...others }: HistoryOptions): Promise<HistoryDocument> => {
    refuseUnknown({ folder, cells, ...others }, ["folder", "cells"]);
    if (typeof folder !== "string") throw new PinbenchError("usage", "The option folder must be text.");
    const { kind } = commandSettings.history.cells;
    const patterns = cells === undefined ? null : readValue("cells", kind, cells);
    return describeHistory({
      version: packageVersion(),
      path: folder,
      history: await readHistory(folder),
      cells: patterns,
    });
  },
);
