import type { Screen } from "../../draw/screen.js";
import { finalize } from "../../results/files/store.js";
import type { ResultDocument } from "../../results/schema.js";
import {
  type DisplayFlags,
  noter,
  outputScreen,
  reportError,
  stdoutScreen,
  writeStdout,
} from "./terminal.js";

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
  render: (format: Format, screen: Screen) => string | Promise<string>,
  { format, files, besides = [] }: Destinations<Format>,
  flags: DisplayFlags & { debug: boolean },
): Promise<void> {
  const errors: unknown[] = [];
  const attempt = (work: () => Promise<void>) => work().catch((error: unknown) => errors.push(error));

  const inFile =
    format === "json" && process.stdout.isTTY ? files.find((file) => file.format === format) : undefined;
  if (inFile !== undefined)
    noter({ quiet: false })(`the JSON is only in ${inFile.path}, not on this terminal.`);
  else if (format !== null) await attempt(async () => writeStdout(await render(format, stdoutScreen(flags))));
  for (const file of files)
    await attempt(async () =>
      sayingIfLong(file.path, finalize(file.path, await render(file.format, outputScreen(flags)))),
    );
  for (const write of besides) await attempt(write);
  for (const error of errors.slice(1)) reportError(error, flags);
  if (errors.length > 0) throw errors[0];
}

const longMs = 2000;

/** Says on stderr if writing takes long: nothing else would show why a command does not end. */
async function sayingIfLong(path: string, writing: Promise<void>): Promise<void> {
  const say = noter({ quiet: false });
  const timer = setTimeout(() => say(`still writing ${path}: a named pipe waits for a reader.`), longMs);
  await writing.finally(() => clearTimeout(timer));
}

/**
 * Says on stderr where a run's copies are slower than those of healthy machines. What knows that is loaded only where NVML
 * told of a link.
 */
export async function adviseDoctor(document: ResultDocument): Promise<void> {
  if (document.devices.every(({ link }) => link === null)) return;
  const { doctorAdvice } = await import("../../doctor/doctor-advice.js");
  const advice = doctorAdvice(document);
  if (advice !== null) noter({ quiet: false })(advice);
}
