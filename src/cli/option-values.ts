import { PinbenchError } from "../errors.js";
import type { NumaChoice } from "../measure/placement.js";
import { parseChoices } from "../settings/choices.js";
import { parseDuration } from "../settings/units.js";

/** What a value means that only the command line and its configuration know, as text. All throw usage errors. */

/** A parser of lists, which says what may be in them. */
export function choicesOf<Choice extends string>(what: string, choices: readonly Choice[]) {
  return Object.assign((text: string) => parseChoices(text, what, choices), { choices });
}

export function parseDevices(text: string): number[] | "all" {
  if (text === "all") return "all";
  const entries = text.split(",").map((entry) => entry.trim());
  const wrong = entries.find((entry) => !/^\d{1,4}$/.test(entry));
  if (wrong === undefined) return [...new Set(entries.map(Number))];
  throw new PinbenchError("usage", `"${wrong}" is not a device number.`, {
    hint: "Write for example 0 or 0,1, or all; pinbench devices lists them.",
  });
}

export function parseNuma(text: string): NumaChoice {
  if (text === "local") return "local";
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new PinbenchError("usage", `"${text}" is not a NUMA node.`, {
    hint: "Write local, or a node's number such as 0.",
  });
}

export function parseWhole(what: string) {
  return (text: string): number => {
    if (/^\d{1,16}$/.test(text)) return Number(text);
    throw new PinbenchError("usage", `"${text}" is not a ${what}: that is a whole number.`);
  };
}

export function collect(path: string, previous: string[]): string[] {
  return [...previous, path];
}

/** Most processes of one measurement; more is a slip of the keyboard. */
const mostRuns = 1000;

export function parseRuns(text: string): number {
  const runs = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (runs >= 1 && runs <= mostRuns) return runs;
  throw new PinbenchError(
    "usage",
    `"${text}" is not a number of runs: that is a whole number from 1 to ${mostRuns}.`,
  );
}

const mostWaitNs = 24 * 3600e9;

/** Nanoseconds to wait, a day at most. */
export function parseWait(text: string): number {
  const waitNs = parseDuration(text);
  if (waitNs <= mostWaitNs) return waitNs;
  throw new PinbenchError("usage", `"${text}" is too long to wait: a day is the most.`);
}

/** What `--json` and `--format` ask for together. Throws a usage error where they contradict each other. */
export function chosenFormat<Format extends string>(flags: {
  json?: boolean;
  format?: Format;
}): Format | "json" | null {
  if (flags.json && flags.format !== undefined && flags.format !== "json") {
    throw new PinbenchError("usage", `--json and --format ${flags.format} contradict each other.`, {
      hint: "Leave one of them out.",
    });
  }
  return flags.json ? "json" : (flags.format ?? null);
}
