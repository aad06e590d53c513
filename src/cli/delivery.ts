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

/** No colours at all, for files. */
export function plainChalk(): ChalkInstance {
  return new Chalk({ level: 0 });
}

/** A file to write. */
export interface Output<Format> {
  path: string;
  format: Format;
}

/** Where a command's document goes. */
export interface Destinations<Format> {
  /** What stdout gets; null where it is to stay empty. */
  format: Format | null;
  files: readonly Output<Format>[];
  /** What else is to be written, in its own way. */
  besides?: readonly (() => Promise<void>)[];
}

/**
 * Hands a document over: stdout first, then every file, whatever became of the others, since a measurement cannot be
 * had again. Then throws the first error, having reported the rest.
 */
export async function deliver<Format>(
  render: (format: Format, chalk: ChalkInstance) => string | Promise<string>,
  { format, files, besides = [] }: Destinations<Format>,
  flags: { color: boolean; debug: boolean },
): Promise<void> {
  const errors: unknown[] = [];
  const attempt = (work: () => Promise<void>) => work().catch((error: unknown) => errors.push(error));

  if (format !== null) await attempt(async () => writeStdout(await render(format, stdoutChalk(flags))));
  for (const file of files)
    await attempt(async () => finalize(file.path, await render(file.format, plainChalk())));
  for (const write of besides) await attempt(write);
  for (const error of errors.slice(1)) reportError(error, flags);
  if (errors.length > 0) throw errors[0];
}
