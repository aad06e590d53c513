import fc from "fast-check";
import { expect } from "vitest";
import { reportError } from "../../src/cli/output/terminal.js";
import { PinbenchError } from "../../src/errors.js";
import { trialSeed } from "./trials.js";

/** Inputs of a hostile user or a broken program for parsers, and the permitted outcomes. */

/** Keys of every object or array, which are never valid names here. */
export const inheritedKeys = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "length",
];

const oddTexts = [
  "",
  " ",
  "\0",
  "\n",
  "a\n  b",
  "\r\n\t",
  "\u001b[2J\u001b]0;x\u0007",
  "\u202egnp.\u2066",
  "\ud800",
  "\udc00\ud800",
  "\ufeff1",
  "٣",
  "１２",
  "１MiB",
  "null",
  "-0",
  "+1",
  "1e3",
  "0x10",
  "1_000",
  "1,5",
  "..",
  "*",
  "%",
  "=",
  "$HOME",
  "$(id)",
  "../../etc/passwd",
  "9007199254740993",
  "9".repeat(400),
  `0.${"0".repeat(400)}1`,
  ...inheritedKeys,
];

const words = fc.constantFrom(
  ...[
    "64KiB",
    "1MiB",
    "..",
    "*2",
    "+1MiB",
    "5%",
    "8s",
    "µs",
    "min",
    "=",
    ",",
    "/",
    "-",
    "0",
    "1",
    "all",
    "local",
  ],
  ...["d0", "h2d", "pinned", "16777216", "w4", "throughput", "cold", "auto", "true", "{", "}", '"', "\\"],
  ...oddTexts,
);

/** Any text: words that parsers know, odd words, any characters and half characters. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...oddTexts),
  fc.array(words, { maxLength: 8 }).map((parts) => parts.join("")),
  fc.tuple(fc.nat(), fc.constantFrom(...inheritedKeys)).map(([number, word]) => `${number}${word}`),
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  // Code units, lone surrogates too.
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);

/** Any number of JSON or JavaScript. */
export const hostileNumber: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, -0, -1, 0.5, 1e-320, 1e308, -1e308, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 + 2, 2 ** 64),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.MIN_VALUE),
  fc.double(),
  fc.integer(),
);

/** Any value that an untyped caller may pass. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  hostileNumber,
  fc.constantFrom(
    null,
    true,
    false,
    12n,
    Symbol("x"),
    () => 1,
    new Date(Number.NaN),
    /x/,
    Object.create(null),
  ),
  fc.array(fc.oneof(hostileText, hostileNumber), { maxLength: 4 }),
  fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true }),
);

/** fast-check's parameters for a number of repeatable trials. */
export const runs = (numRuns: number) => ({ numRuns, seed: trialSeed, endOnFailure: false });

/** A command's stderr for an error. */
export function printed(error: unknown): string {
  const { write } = process.stderr;
  const texts: string[] = [];
  process.stderr.write = (text: string | Uint8Array) => texts.push(String(text)) > 0;
  try {
    reportError(error);
  } finally {
    process.stderr.write = write;
  }
  return texts.join("");
}

/** Longest readable sentence with its hint. */
const mostCharacters = 5000;

/**
 * Requires an error to be one sentence for the user on one line of stderr, without effects on the
 * terminal, and of one of these kinds.
 */
export function expectRefusal(error: unknown, kinds: readonly string[] = ["usage"]): void {
  if (!(error instanceof PinbenchError)) throw error;
  expect(kinds).toContain(error.kind);
  const line = printed(error);
  expect(line.length).toBeLessThan(mostCharacters);
  expect(line).toMatch(/^pinbench: [^\p{Cc}\p{Bidi_Control}\u2028\u2029]+\n$/u);
  expect(error.message).toMatch(/[.?)]$/);
  expect(line).not.toMatch(/\bat \S+:\d+:\d+|\[object |This is a bug in pinbench/);
}

/** A parser's result; null if it refuses the input in one sentence. Other errors are thrown on. */
export function acceptedBy<Value>(parse: () => Value, kinds?: readonly string[]): { value: Value } | null {
  try {
    return { value: parse() };
  } catch (error) {
    expectRefusal(error, kinds);
    return null;
  }
}

const untouched = () => JSON.stringify(inheritedKeys.map((key) => Object.hasOwn(Object.prototype, key)));
const untouchedAtFirst = untouched();
const keysAtFirst = Object.keys(Object.prototype).length;

/** Requires that no property was added to all objects. */
export function expectNoPollution(): void {
  expect(Object.keys(Object.prototype)).toHaveLength(keysAtFirst);
  expect(untouched()).toBe(untouchedAtFirst);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
}
