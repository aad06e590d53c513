import { fstatSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { errorCode, PinbenchError } from "../../errors.js";
import { shortageOf } from "../../machine-shortage.js";
import { fileErrorReason, inheritedDescriptor } from "../../text-file.js";

const stdout = 1;

/**
 * Writes to stdout, or to a pipe, a terminal or a device. A reader that closes early is no error. Rejects
 * with the file system's error.
 */
export async function writeToStream(path: string, text: string): Promise<void> {
  try {
    if (inheritedDescriptor(path) === stdout) await writeToStdout(text);
    else await writeFile(path, text, { flag: "a" });
  } catch (error) {
    if (errorCode(error) !== "EPIPE") throw error;
  }
}

async function writeToStdout(text: string): Promise<void> {
  // process.stdout reports success for a write that a full disk has cut short.
  if (fstatSync(stdout).isFile()) return writeFileSync(stdout, text);
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  ENXIO: "nothing reads from it",
};

/** The result of `work`. File system errors are reported as `path` that cannot be written. */
export async function reportingAs<T>(path: string, work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof PinbenchError ? error : cannotWrite(path, error);
  }
}

export function cannotWrite(path: string, cause: unknown): PinbenchError {
  const shortage = shortageOf(cause, `cannot write ${path}`);
  return shortage ?? unwritable(path, fileErrorReason(cause, reasons), cause);
}

export function unwritable(path: string, reason: string, cause?: unknown): PinbenchError {
  const hint = "Choose another path to write to.";
  return new PinbenchError("output", `cannot write ${path}: ${reason}.`, { hint, cause });
}
