import { delimiter, dirname, isAbsolute } from "node:path";
import type { z } from "zod";
import { PinbenchError } from "../../errors.js";
import { shortageOf } from "../../machine-shortage.js";

/**
 * The Python in whose environment pinbench was installed, set by the wheel's launcher; null if pinbench was installed
 * otherwise, or if that environment has no torch and so cannot train.
 */
function ownPython({ PINBENCH_PYTHON: named }: NodeJS.ProcessEnv): string | null {
  return named && isAbsolute(named) ? named : null;
}

export function usualPython(environment: NodeJS.ProcessEnv): string {
  return ownPython(environment) ?? "python3";
}

/**
 * The PATH for a training job's command: unchanged, except that a wheel's environment comes first if it is missing, as
 * if it were activated. So `python` and `torchrun` are those of this pinbench, and an order chosen by the user remains.
 */
export function trainingPath(environment: NodeJS.ProcessEnv): string | undefined {
  const { PATH: path } = environment;
  const python = ownPython(environment);
  if (python === null) return path;
  const folder = dirname(python);
  // Without a PATH the system uses a default one.
  const folders = (path ?? "/usr/local/bin:/usr/bin:/bin").split(delimiter);
  return folders.includes(folder) ? path : [folder, ...folders].join(delimiter);
}

export const pythonHint = "Name the Python of the training's environment with --python.";

export function cannotBeStarted(python: string, error: NodeJS.ErrnoException): PinbenchError {
  const message =
    error.code === "ENOENT"
      ? `There is no ${python}.`
      : `${python} cannot be run (${error.code ?? error.message}).`;
  return (
    shortageOf(error, message.replace(/\.$/, "")) ??
    new PinbenchError("usage", message, { hint: pythonHint, cause: error })
  );
}

/**
 * The message in a line of JSON from another process; null for other lines, which may be anything. The shape is checked
 * first, because a wrong field would otherwise look like a fault of pinbench, far from its source.
 */
export function readLine<Message extends z.ZodType>(
  line: string,
  message: Message,
): z.output<Message> | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const parsed = message.safeParse(value);
  return parsed.success ? parsed.data : null;
}
