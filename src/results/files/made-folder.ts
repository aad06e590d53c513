import { mkdirSync, rmdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode } from "../../errors.js";

/**
 * Makes a folder and those above it that are not there; returns the ones it made, outer first. Rejects with the file
 * system's error, having made none.
 */
export async function makeFolder(path: string): Promise<string[]> {
  return makeFolderSync(path);
}

/**
 * As makeFolder(), where nothing can be awaited; `mode` is of the folders made. (Node's own recursive mkdir never ends
 * where a folder cannot be made in one that is there because of ENOENT, as in /proc.)
 */
export function makeFolderSync(path: string, mode = 0o777): string[] {
  try {
    mkdirSync(path, { mode });
    return [path];
  } catch (error) {
    if (errorCode(error) === "EEXIST" && statSync(path).isDirectory()) return [];
    if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    const above = makeFolderSync(dirname(path), mode);
    try {
      mkdirSync(path, { mode });
    } catch (error) {
      // Another process may be making the same folders.
      if (errorCode(error) === "EEXIST" && statSync(path).isDirectory()) return above;
      removeEmptyFoldersSync(above);
      throw error;
    }
    return [...above, path];
  }
}

/** Removes what makeFolder() made, as far as it is empty: somebody else may have come to use a folder. */
export async function removeEmptyFolders(made: readonly string[]): Promise<void> {
  removeEmptyFoldersSync(made);
}

function removeEmptyFoldersSync(made: readonly string[]): void {
  try {
    for (const folder of made.toReversed()) rmdirSync(folder);
  } catch {
    // Then those above it are not empty either.
  }
}
