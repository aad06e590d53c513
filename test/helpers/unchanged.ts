import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { PinbenchError } from "../../src/errors.js";

/*
 * Outputs of many varied inputs, of which a test says only that they are what they were when they were last recorded: it
 * finds a change that nobody meant in what other tests do not name. The record has a hash for each input.
 *
 * `npx vitest run test/unchanged -u` records them anew. PINBENCH_OUTPUTS=FOLDER writes the outputs themselves too: with a
 * folder from before a change and one from after it, `diff -r` shows what has changed.
 */

/** Nine digits, because functions of Node differ in the last ones between its versions. */
const rounded = (_key: string, value: unknown) =>
  typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(9)) : value;

const textOf = (output: unknown) =>
  typeof output === "string" ? output : `${JSON.stringify(output, rounded, 1)}\n`;

/** What stands for a refusal in a record; an error that is none is thrown on. */
export function refusalOf(error: unknown): unknown[] {
  if (!(error instanceof PinbenchError)) throw error;
  return [error.kind, error.message, error.hint];
}

/** Requires that each input's output, a text or what JSON can hold, is what test/unchanged/NAME.txt says. */
export async function expectUnchanged(
  name: string,
  outputs: Iterable<readonly [input: string, output: unknown]>,
): Promise<void> {
  const folder = process.env.PINBENCH_OUTPUTS;
  let record = "";
  for (const [input, output] of outputs) {
    const text = textOf(output);
    record += `${createHash("sha256").update(text).digest("hex").slice(0, 8)}  ${input}\n`;
    if (folder === undefined) continue;
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, `${input.replaceAll(/[^\w.,=-]+/g, "_")}.txt`), text);
  }
  await expect(record).toMatchFileSnapshot(`./${name}.txt`);
}
