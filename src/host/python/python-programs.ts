import { delimiter, dirname, isAbsolute } from "node:path";
import type { z } from "zod";
import { PinbenchError } from "../../errors.js";
import { shortageOf } from "../../machine-shortage.js";

/**
 * The Python of the environment in which pinbench was installed, set by the wheel's launcher. Null for other
 * installations, or if that environment has no torch and so cannot train.
 */
function ownPython({ PINBENCH_PYTHON: named }: NodeJS.ProcessEnv): string | null {
  return named && isAbsolute(named) ? named : null;
}

export function usualPython(environment: NodeJS.ProcessEnv): string {
  return ownPython(environment) ?? "python3";
}

/**
 * The PATH for a training command. If a wheel's environment is missing in it, it comes first, as if activated, so that
 * `python` and `torchrun` are those of this pinbench. An order chosen by the user stays.
 */
export function trainingPath(environment: NodeJS.ProcessEnv): string | undefined {
  const { PATH: path } = environment;
  const python = ownPython(environment);
  if (python === null) return path;
  const folder = dirname(python);
  // The system's default without a PATH.
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
 * The message in a JSON line from another process; null for any other line. Checks the shape first: a wrong field would
 * otherwise look like a fault of pinbench, far from its source.
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
