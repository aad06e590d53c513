import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PinbenchError } from "../errors.js";
import { shortageOf } from "../machine-shortage.js";
import { fileErrorReason } from "../text-file.js";

/** What to do about a folder for temporary files that is of no use. */
export const temporaryFolderHint = "TMPDIR names another place for temporary files.";

/** A new folder for a process' sockets and files, below `parent`; throws a PinbenchError where none can be made. */
export function makeTemporaryFolder(parent = tmpdir()): string {
  try {
    return mkdtempSync(join(parent, "pinbench-"));
  } catch (cause) {
    const doing = `cannot make a folder in ${parent}`;
    const reason = fileErrorReason(cause, { ENOENT: "there is no such folder" });
    throw (
      shortageOf(cause, doing) ??
      new PinbenchError("usage", `${doing}: ${reason}.`, { hint: temporaryFolderHint, cause })
    );
  }
}
