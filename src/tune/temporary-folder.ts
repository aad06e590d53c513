import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PinbenchError } from "../errors.js";

/** What to do about a folder for temporary files that is of no use. */
export const temporaryFolderHint = "TMPDIR names another place for temporary files.";

/** A new folder for a process' sockets and files, below `parent`; throws a usage error where none can be made. */
export function makeTemporaryFolder(parent = tmpdir()): string {
  try {
    return mkdtempSync(join(parent, "pinbench-"));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new PinbenchError("usage", `No folder can be made in ${parent} (${code}).`, {
      hint: temporaryFolderHint,
      cause,
    });
  }
}
