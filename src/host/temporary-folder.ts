import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PinbenchError } from "../errors.js";
import { shortageOf } from "../machine-shortage.js";
import { fileErrorReason } from "../text-file.js";

export const temporaryFolderHint = "TMPDIR names another place for temporary files.";

export function temporaryPath(parent = tmpdir()): string {
  return join(parent, `pinbench-${randomBytes(6).toString("base64url")}`);
}

/** Makes a folder for sockets and files that no other user can read. Throws a PinbenchError on failure. */
export function makeTemporaryFolder(path = temporaryPath()): string {
  try {
    mkdirSync(path, { mode: 0o700 });
    return path;
  } catch (cause) {
    const doing = `cannot make a folder in ${dirname(path)}`;
    const reason = fileErrorReason(cause, { ENOENT: "there is no such folder" });
    throw (
      shortageOf(cause, doing) ??
      new PinbenchError("usage", `${doing}: ${reason}.`, { hint: temporaryFolderHint, cause })
    );
  }
}
