import { stat } from "node:fs/promises";
import { errorCode, PinbenchError } from "../errors.js";
import { parseResult } from "../results/parse.js";
import { listRuns } from "../results/run-folder.js";
import { readTextFile } from "../text-file.js";
import type { ResultSet } from "./compare.js";
import { type RunFigures, runFigures } from "./figures.js";

/**
 * The runs of a result file, or of a folder of them, in the order in which they were measured. One file is held in
 * memory at a time. Throws a usage error that names the file, and "notComparable" for a baseline that is not there.
 */
export async function readResultSet(path: string, role: "baseline" | "candidate"): Promise<ResultSet> {
  const paths = (await isFolder(path, role)) ? await listRuns(path) : [path];
  const runs: RunFigures[] = [];
  for (const file of paths) runs.push(runFigures(parseResult(await readTextFile(file), file), file));
  refuseCopies(runs);
  runs.sort((a, b) => a.startedAt.localeCompare(b.startedAt));
  return { path, runs };
}

/** A copy of a run would count as another process, and make the spread between them look smaller than it is. */
function refuseCopies(runs: readonly RunFigures[]): void {
  const paths = new Map<string, string | null>();
  for (const { id, path } of runs) {
    if (paths.has(id)) {
      throw new PinbenchError("usage", `${path} is the same run as ${paths.get(id)}.`, {
        hint: "Remove one of them: a folder holds runs that were measured one by one.",
      });
    }
    paths.set(id, path);
  }
}

async function isFolder(path: string, role: "baseline" | "candidate"): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (cause) {
    if (errorCode(cause) === "ENOENT" && role === "baseline") {
      throw new PinbenchError("notComparable", `there is no baseline ${path}.`, {
        hint: `Make one with \`pinbench baseline ${path}\`.`,
        cause,
      });
    }
    // What else is wrong with the path, reading it says.
    return false;
  }
}
