import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { PinbenchError } from "../errors.js";

/**
 * An output must not be what a command reads, nor lie in a folder that it reads: it would be overwritten, or taken for
 * a run the next time. Rejects with an "output" PinbenchError.
 */
export async function keepInputs(outputs: readonly string[], inputs: readonly string[]): Promise<void> {
  const kept = await Promise.all(inputs.map(real));
  for (const output of outputs) {
    const path = await real(output);
    const index = kept.findIndex((input) => path === input || path.startsWith(input + sep));
    if (index < 0) continue;
    const where = path === kept[index] ? "is what is read" : `lies in ${inputs[index]}, which is read`;
    throw new PinbenchError("output", `${output} ${where}, and writing to it would spoil that.`, {
      hint: "Choose another path to write to.",
    });
  }
}

/** Without symbolic links, as far as the path leads to something. */
async function real(path: string): Promise<string> {
  return realpath(path).catch(async () => {
    const absolute = resolve(path);
    const folder = await realpath(dirname(absolute)).catch(() => dirname(absolute));
    return join(folder, basename(absolute));
  });
}
