import { mkdir, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "../errors.js";

/**
 * Makes a folder and those above it that are not there; returns the ones it made, outer first. Rejects with the file
 * system's error, having made none. (Node's own recursive mkdir never ends where a folder cannot be made in one that
 * is there because of ENOENT, as in /proc.)
 */
export async function makeFolder(path: string): Promise<string[]> {
  try {
    await mkdir(path);
    return [path];
  } catch (error) {
    if (errorCode(error) === "EEXIST" && (await stat(path)).isDirectory()) return [];
    if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    const above = await makeFolder(dirname(path));
    if (above.length === 0) throw error;
    try {
      await mkdir(path);
    } catch (error) {
      await removeEmptyFolders(above);
      throw error;
    }
    return [...above, path];
  }
}

/** Those of makeFolder() as far as they are empty: somebody else may have come to use them. */
export async function removeEmptyFolders(made: readonly string[]): Promise<void> {
  for (const folder of made.toReversed()) {
    const isRemoved = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}
