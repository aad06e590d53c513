import { PinbenchError } from "../errors.js";
import { type Cell, parseCellId } from "../plan/cell.js";
import type { PlanFlags } from "./run-options.js";

/** What the ids of `--cells` say; none of these flags goes together with it. */
export const cellParameters = [
  "device",
  "preset",
  "sizes",
  "workers",
  "memory",
  "direction",
  "mode",
  "timer",
  "cache",
] as const satisfies readonly (keyof PlanFlags)[];

/** Most ids that one run may have take about a MiB; what is far beyond is something else. 16 MiB. */
const limitBytes = 16 * 1024 ** 2;

/**
 * The cells of `--cells`: ids with commas, or "-" for those on stdin, a line each. Rejects with a usage error for what
 * is no id and for stdin that cannot be read; whether there are any is for the plan to say.
 */
export async function readCells(value: string): Promise<Cell[]> {
  const text = value === "-" ? await readStdin() : value;
  return text
    .split(/[\s,]+/)
    .filter((id) => id !== "")
    .map(parseCellId);
}

/** As a stream, for stdin may be a socket, which /dev/stdin does not open. */
async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  try {
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      total += chunk.length;
      if (total > limitBytes) break;
    }
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new PinbenchError("usage", `cannot read the cell ids from stdin: ${reason}.`, {
      hint: "Pipe them in, one a line.",
      cause,
    });
  }
  if (total <= limitBytes) return Buffer.concat(chunks).toString("utf8");
  throw new PinbenchError("usage", "stdin holds more than 16 MiB, and no run has that many cells.", {
    hint: "Pipe in the ids alone, one a line.",
  });
}
