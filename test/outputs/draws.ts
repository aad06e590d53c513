import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { PinbenchError } from "../../src/errors.js";

/*
 * Outputs of many varied inputs, for `npm run same`: it has two states of the program draw them, and prints what differs. No
 * test asserts them, as they do not say what is right.
 */

/** An input's name, and what the program makes of it: a text, or what JSON can hold. */
export type Output = readonly [input: string, output: unknown];

/** What stands for a refusal; an error that is none is thrown on. */
export function refusalOf(error: unknown): unknown[] {
  if (!(error instanceof PinbenchError)) throw error;
  return [error.kind, error.message, error.hint];
}

/**
 * Writes these outputs to a folder of PINBENCH_OUTPUTS with the name of `module`. Nothing is drawn if another module
 * imports it.
 */
export function draws(module: string, outputs: () => Iterable<Output> | Promise<Iterable<Output>>): void {
  const file = fileURLToPath(module);
  const folder = process.env.PINBENCH_OUTPUTS;
  if (folder === undefined || expect.getState().testPath !== file) return;
  const topic = basename(file, ".ts");
  it(topic, async () => {
    const drawn = [...(await outputs())];
    mkdirSync(join(folder, topic));
    for (const [input, output] of drawn)
      writeFileSync(join(folder, topic, encodeURIComponent(input).slice(0, 250)), textOf(output));
  });
}

/** A text as it is, and anything else as an indented outline, in which a diff shows the one line that differs. */
function textOf(output: unknown): string {
  if (typeof output === "string") return output.endsWith("\n") ? output : `${output}\n`;
  return `${linesOf(JSON.parse(JSON.stringify(output)), "").join("\n")}\n`;
}

function linesOf(value: unknown, indent: string): string[] {
  if (typeof value === "string" && value.includes("\n"))
    return ["", ...value.split("\n").map((line) => `${indent}| ${line}`)];
  if (typeof value !== "object" || value === null) return [leaf(value)];
  const entries = Object.entries(value);
  if (Array.isArray(value) && entries.every(([, one]) => typeof one !== "object" || one === null))
    if (!value.some((one) => typeof one === "string")) return [`[${value.map(leaf).join(", ")}]`];
  return [
    "",
    ...entries.flatMap(([key, one]) => entryLines(Array.isArray(value) ? "-" : `${key}:`, one, indent)),
  ];
}

function entryLines(key: string, value: unknown, indent: string): string[] {
  const [first, ...rest] = linesOf(value, `${indent}  `);
  return [`${indent}${key} ${first}`.trimEnd(), ...rest];
}

/** Nine digits, because functions of Node differ in the last ones between its versions. */
function leaf(value: unknown): string {
  return typeof value === "number" && !Number.isInteger(value)
    ? String(Number(value.toPrecision(9)))
    : String(value);
}
