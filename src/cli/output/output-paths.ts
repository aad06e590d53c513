import { readdir, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { errorCode, PinbenchError } from "../../errors.js";
import { makeFolder, removeEmptyFolders, unbroken } from "../../results/files/made-folder.js";
import { cannotWrite } from "../../results/files/output-stream.js";
import { notEmpty } from "../../results/files/run-folder.js";
import { checkWritable } from "../../results/files/store.js";

/**
 * A folder for new runs must be empty or missing, because only `check --update` may replace a baseline. Checks before
 * measuring that it can be written, and leaves nothing behind. `isNotEmpty` is the error for one with content.
 */
export async function checkNewFolder(
  path: string,
  isNotEmpty: (path: string) => PinbenchError = notEmpty,
): Promise<void> {
  const failed = (error: unknown) => {
    throw cannotWrite(path || '""', error);
  };
  const names = await readdir(path).catch((error: unknown) =>
    errorCode(error) === "ENOENT" ? [] : failed(error),
  );
  if (names.length > 0) throw isNotEmpty(path);
  await unbroken(async () => {
    const made = await makeFolder(path).catch(failed);
    try {
      await checkWritable(join(path, "run.json"));
    } finally {
      await removeEmptyFolders(made);
    }
  });
}

/**
 * An output must not be an input, nor lie in an input folder: it would overwrite it, or be read as a run the next time.
 * Rejects with an "output" PinbenchError.
 */
export async function keepInputs(outputs: readonly string[], inputs: readonly string[]): Promise<void> {
  const kept = await Promise.all(inputs.map((input) => real(input)));
  for (const output of outputs) {
    const path = await real(output);
    const index = kept.findIndex((input) => path === input || path.startsWith(input + sep));
    if (index < 0) continue;
    const where = path === kept[index] ? "is an input" : `lies in the input ${inputs[index]}`;
    throw new PinbenchError("output", `${output} ${where}, which the output would overwrite.`, {
      hint: "Choose another path to write to.",
    });
  }
}

/** As many as Linux follows in one path (path_resolution(7)). */
const mostLinks = 40;

/** Resolves symbolic links, also those with a missing target, and in folders that do not exist yet. */
async function real(path: string, linksLeft = mostLinks): Promise<string> {
  const absolute = resolve(path);
  const parent = dirname(absolute);
  return realpath(absolute).catch(async () => {
    if (parent === absolute) return absolute;
    const folder = await real(parent, linksLeft);
    const inFolder = join(folder, basename(absolute));
    const target = linksLeft === 0 ? null : await readlink(inFolder).catch(() => null);
    return target === null ? inFolder : real(resolve(folder, target), linksLeft - 1);
  });
}
