import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { PinbenchError } from "../errors.js";
import { makeFolder, removeEmptyFolders } from "../results/make-folder.js";
import { cannotWrite, errorCode } from "../results/output-error.js";
import { checkWritable } from "../results/store.js";

/**
 * A folder for new runs must be empty, or not there yet: nothing but `check --update` ever replaces a baseline.
 * Finds out before measuring whether it can be written, and leaves nothing behind. `what` is how the message calls
 * the argument.
 */
export async function checkNewFolder(path: string, what: string): Promise<void> {
  const failed = (error: unknown) => {
    throw cannotWrite(path || '""', error);
  };
  const names = await readdir(path).catch((error: unknown) =>
    errorCode(error) === "ENOENT" ? [] : failed(error),
  );
  if (names.length > 0) {
    throw new PinbenchError("output", `${path} is there already and is not empty.`, {
      hint: `Choose a new folder for ${what}; \`pinbench check --baseline ${path} --update\` replaces a baseline.`,
    });
  }
  const made = await makeFolder(path).catch(failed);
  try {
    await checkWritable(join(path, "run.json"));
  } finally {
    await removeEmptyFolders(made);
  }
}
