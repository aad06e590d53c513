import { Chalk, type ChalkInstance, supportsColor } from "chalk";
import { finalize } from "../results/store.js";
import { reportError, writeStdout } from "./terminal.js";

/**
 * Colours for stdout: none with --no-color, NO_COLOR (https://no-color.org) or without a terminal; FORCE_COLOR has
 * the last word, as chalk reads it.
 */
export function stdoutChalk(options: { color: boolean }): ChalkInstance {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  if (!options.color) return plainChalk();
  if (FORCE_COLOR === undefined && NO_COLOR) return plainChalk();
  return new Chalk({ level: supportsColor ? supportsColor.level : 0 });
}

export function plainChalk(): ChalkInstance {
  return new Chalk({ level: 0 });
}

/** Texts to hand over, made when their turn comes. */
export interface Delivery {
  /** Null where stdout is to stay empty. */
  stdout: (() => string) | null;
  files: readonly { path: string; text: () => string }[];
  /** What else is to be written, in its own way. */
  besides?: readonly (() => Promise<void>)[];
}

/**
 * Hands everything over: stdout first, then every file, whatever became of the others, since a measurement cannot be
 * had again. Then throws the first error, having reported the rest.
 */
export async function deliver(
  { stdout, files, besides = [] }: Delivery,
  options: { debug: boolean },
): Promise<void> {
  const errors: unknown[] = [];
  const attempt = (work: () => Promise<void>) => work().catch((error: unknown) => errors.push(error));

  if (stdout !== null) await attempt(async () => writeStdout(stdout()));
  for (const { path, text } of files) await attempt(async () => finalize(path, text()));
  for (const write of besides) await attempt(write);
  for (const error of errors.slice(1)) reportError(error, options);
  if (errors.length > 0) throw errors[0];
}
