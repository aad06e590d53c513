import { PinbenchError } from "../errors.js";
import { directions, memories, nearestWord, steadyMemories } from "./choices.js";
import { hintOfShare, writtenShare } from "./units.js";

/**
 * The drop that counts, relative to the baseline (0.05 is 5 %); and the floors below which a change never counts,
 * whatever its share.
 */
export interface Thresholds {
  /** For cells without another rule; null for `usualThreshold` and, for steady memory, `steadyThreshold`. */
  default: number | null;
  /** By kind of memory. */
  memory: Record<string, number>;
  /** By direction. */
  direction: Record<string, number>;
  /** By patterns of cell ids, tried in this order. */
  cells: readonly { pattern: string; threshold: number }[];
  /** For throughput, in decimal GB/s. */
  floorGBps: number;
  /** For latency, in microseconds a copy. */
  floorUs: number;
}

/** The fields of a cell that determine its threshold. */
export interface ThresholdCell {
  id: string;
  memory: string;
  direction: string;
}

/** The drop that counts without another rule. */
export const usualThreshold = 0.05;

/**
 * The same for memory that the device copies by itself (`steadyMemories`). Its noise is a tenth of this, even between
 * recorded machines (results/nvidia-h200/occasions.json), and a loss of 5 % must be found every time.
 */
export const steadyThreshold = 0.03;

/** The thresholds without other rules. */
export const defaultThresholds: Thresholds = {
  default: null,
  memory: {},
  direction: {},
  cells: [],
  floorGBps: 0.05,
  floorUs: 0.2,
};

/**
 * The threshold of the first pattern that matches the cell; without one that of its memory, its direction, all cells,
 * or similar cells.
 */
export function thresholdOf(thresholds: Thresholds, { id, memory, direction }: ThresholdCell): number {
  const matching = thresholds.cells.find(({ pattern }) => matchesPattern(id, pattern));
  const ofRules = thresholds.memory[memory] ?? thresholds.direction[direction] ?? thresholds.default;
  const ofKind = steadyMemories.includes(memory) ? steadyThreshold : usualThreshold;
  return matching?.threshold ?? ofRules ?? ofKind;
}

/**
 * Whether a whole id matches the pattern, in which `*` stands for any characters, including slashes and none at all.
 */
export function matchesPattern(id: string, pattern: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return id === pattern;
  // The first match of each part leaves most room for later parts, so no other needs to be tried.
  let at = first.length;
  if (!id.startsWith(first)) return false;
  for (const part of others) {
    const found = id.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return id.length - last.length >= at && id.endsWith(last);
}

/** Later parts override earlier ones and `base`; patterns of cells are all kept, and tried in the order of parts. */
export function mergeThresholds(base: Thresholds, ...parts: readonly Partial<Thresholds>[]): Thresholds {
  return {
    ...Object.assign({}, base, ...parts),
    memory: Object.assign({}, base.memory, ...parts.map(({ memory }) => memory)),
    direction: Object.assign({}, base.direction, ...parts.map(({ direction }) => direction)),
    cells: [...parts.flatMap(({ cells }) => cells ?? []), ...base.cells],
  };
}

/** The share in "5%" or "0.05". Throws a usage error unless it is above 0 and below 1. */
export function parseThreshold(text: string): number {
  const share = writtenShare(text);
  if (share > 0 && share < 1) return share;
  throw new PinbenchError("usage", `"${text}" is not a threshold, a share above 0 % and below 100 %.`, {
    hint: hintOfShare(text, 99.9, "5% or 0.05"),
  });
}

/**
 * One `--threshold`: "5%" for all cells, "pageable=10%" for a kind of memory, "d2h=6%" for a direction, or
 * "d0/h2d/*=8%" for a pattern of cells. Throws a usage error.
 */
export function parseThresholdFlag(text: string): Partial<Thresholds> {
  const separator = text.lastIndexOf("=");
  const several = text.split(",").map((one) => one.trim());
  if (several.length > 1 && several.every((one) => one.includes("="))) {
    throw new PinbenchError("usage", `"${text}" is more than one threshold.`, {
      hint: `Give one for each: ${several.map((one) => `--threshold ${one}`).join(" ")}.`,
    });
  }
  const meant = thresholdMeant(text);
  if (meant !== null) {
    throw new PinbenchError("usage", `"${text}" is not a threshold of some cells.`, {
      hint: `Did you mean ${meant}?`,
    });
  }
  if (separator < 0) return { default: parseThreshold(text) };
  const name = text.slice(0, separator).trim();
  const threshold = parseThreshold(text.slice(separator + 1));
  if (isOneOf(memories, name)) return { memory: { [name]: threshold } };
  if (isOneOf(directions, name)) return { direction: { [name]: threshold } };
  if (/[/*]/.test(name)) return { cells: [{ pattern: name, threshold }] };
  throw new PinbenchError("usage", `"${name}" is no memory kind, no direction and no pattern of cells.`, {
    hint: hintOfName(name, text.slice(separator + 1).trim()),
  });
}

/**
 * A name and a share in the right order with "=" in between, as in "pinned=5%"; null if they already are, or one is
 * missing.
 */
function thresholdMeant(text: string): string | null {
  const share = /^(\d[\d.]*\s*%?)$/;
  const [first = "", second = "", ...others] = text.split(/[=:]/).map((part) => part.trim());
  if (others.length > 0) return null;
  if (second === "") return isOneOf(names, first) ? `${first}=5%` : null;
  if (isOneOf(names, second) && share.test(first)) return `${second}=${first}`;
  return isOneOf(names, first) && share.test(second) && !text.includes("=") ? `${first}=${second}` : null;
}

function hintOfName(name: string, share: string): string {
  const several = name.split(",").map((one) => one.trim());
  if (several.every((one) => isOneOf(names, one))) {
    return `Give one for each: ${several.map((one) => `--threshold ${one}=${share}`).join(" ")}.`;
  }
  const meant = nearestWord(name, names);
  const choices = `Choose from ${names.join(", ")}, or write a pattern such as d0/h2d/*.`;
  return meant === null ? choices : `Did you mean ${meant}=${share}? ${choices}`;
}

/** Names that can have a threshold. */
const names: readonly string[] = [...memories, ...directions];

function isOneOf(choices: readonly string[], name: string): boolean {
  return choices.includes(name);
}
