import { PinbenchError } from "../errors.js";
import { cannotWrite, writeToStream } from "../results/output-stream.js";

/**
 * Keeps Node from ending the process with a stack when a stream cannot be written. A reader that closes the pipe early
 * (`pinbench run | head -1`) has what it wants; what else is wrong with stdout, writeStdout reports.
 */
export function surviveStreamErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

/**
 * Writes data to stdout and waits until it is handed over. Rejects with an "output" PinbenchError. Goes past
 * process.stdout, which takes a write that a full disk has cut short for a whole one.
 */
export async function writeStdout(text: string): Promise<void> {
  try {
    await writeToStream("/dev/stdout", text);
  } catch (cause) {
    throw new PinbenchError("output", cannotWrite("stdout", cause).message, {
      hint: "Redirect it to another place.",
      cause,
    });
  }
}
