import { PinbenchError } from "../errors.js";
import type { FleetDocument } from "../fleet/fleet-document.js";
import { judgeResults } from "../fleet/judge-results.js";
import type { Options } from "../settings/setting.js";
import { defaultsOf, readOptions } from "../settings/settings.js";
import { fleetSettings } from "../settings/table.js";
import { forCallers } from "./for-callers.js";

export interface FleetOptions extends Options<typeof fleetSettings> {
  /** Results of many nodes: files, and folders with all their subfolders. */
  results: string | readonly string[];
}

/**
 * Finds slow nodes as `pinbench fleet` does, and returns the document of its --json. Slow nodes do not
 * reject: see the document's `outliers`. Rejects with a PinbenchError if there is no result of a node.
 */
export const fleet = forCallers(async ({ results, ...options }: FleetOptions): Promise<FleetDocument> => {
  const paths: readonly unknown[] = Array.isArray(results) ? results : [results];
  if (paths.length === 0 || !paths.every((path) => typeof path === "string")) {
    throw new PinbenchError("usage", "The option results must be a path, or a list of them.");
  }
  const rule = { ...defaultsOf(fleetSettings), ...readOptions(fleetSettings, options) };
  return judgeResults(paths, rule);
});
