import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../errors.js";
import { cannotWrite } from "../results/output-stream.js";
import { makeFolder, notEmpty, removeEmptyFolders } from "../results/run-folder.js";
import { checkWritable } from "../results/store.js";

/**
 * A folder for new runs must be empty, or not there yet: nothing but `check --update` ever replaces a baseline.
 * Finds out before measuring whether it can be written, and leaves nothing behind.
 */
export async function checkNewFolder(path: string): Promise<void> {
  const failed = (error: unknown) => {
    throw cannotWrite(path || '""', error);
  };
  const names = await readdir(path).catch((error: unknown) =>
    errorCode(error) === "ENOENT" ? [] : failed(error),
  );
  if (names.length > 0) throw notEmpty(path);
  const made = await makeFolder(path).catch(failed);
  try {
    await checkWritable(join(path, "run.json"));
  } finally {
    await removeEmptyFolders(made);
  }
}
