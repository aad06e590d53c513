import { readdir, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { PinbenchError } from "../../errors.js";
import { reportingAs } from "../../results/files/output-stream.js";
import { notEmpty } from "../../results/files/run-folder.js";
import { checkWritable, makeFolder } from "../../results/files/store.js";

/**
 * Makes an empty folder for new runs before measuring, and checks that it can be written. `isNotEmpty` is the error for
 * a folder with content: only `check --update` may replace a baseline.
 */
export async function makeNewFolder(
  path: string,
  isNotEmpty: (path: string) => PinbenchError = notEmpty,
): Promise<void> {
  await makeFolder(path);
  if ((await reportingAs(path, () => readdir(path))).length > 0) throw isNotEmpty(path);
  await checkWritable(join(path, "run.json"));
}

/**
 * Rejects with an "output" PinbenchError if an output is an input or lies in an input folder: it would overwrite a run,
 * or be read as one later.
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

/** Linux follows as many in one path (path_resolution(7)). */
const mostLinks = 40;

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
