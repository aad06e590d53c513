import { PinbenchError } from "../errors.js";
import { memories, nearestWord, steadyMemories } from "./choices.js";
import { writtenShare } from "./units.js";

/** Drops that count as regressions, relative to the baseline (0.05 is 5 %). */
export interface Thresholds {
  /** For memory without its own; null takes `usualThreshold`, or for steady memory `steadyThreshold`. */
  default: number | null;
  /** By kind of memory. */
  memory: Record<string, number>;
}

const usualThreshold = 0.05;

/**
 * For memory that the device copies by itself (`steadyMemories`). Its noise is a tenth of this, even between recorded
 * machines (results/nvidia-h200/sessions.json), and a loss of 5 % must always be found.
 */
const steadyThreshold = 0.03;

export const defaultThresholds: Thresholds = {
  default: null,
  memory: {},
};

/**
 * The threshold of a cell with this memory: the memory's own, the one for all cells, or the usual one. For steady
 * memory the usual one is smaller, unless its copies are noisy: measured in one run, or during a load.
 */
export function thresholdOf(
  thresholds: Thresholds,
  { memory }: { memory: string },
  { isNoisy = false } = {},
): number {
  const usual = steadyMemories.includes(memory) && !isNoisy ? steadyThreshold : usualThreshold;
  return thresholds.memory[memory] ?? thresholds.default ?? usual;
}

/** Later parts override earlier ones and `base`, key by key. */
export function mergeThresholds(base: Thresholds, ...parts: readonly Partial<Thresholds>[]): Thresholds {
  return {
    ...Object.assign({}, base, ...parts),
    memory: Object.assign({}, base.memory, ...parts.map(({ memory }) => memory)),
  };
}

/** Parses "5%" or "0.05". Throws a usage error unless the share is above 0 and below 1. */
export function parseThreshold(text: string): number {
  const share = writtenShare(text);
  if (share > 0 && share < 1) return share;
  throw new PinbenchError("usage", `"${text}" is not a threshold, a share above 0 % and below 100 %.`, {
    hint: "Write for example 5% or 0.05.",
  });
}

/** Parses `--threshold`: "5%" for all cells, or "pageable=10%" for one kind of memory. Throws a usage error. */
export function parseThresholdFlag(text: string): Partial<Thresholds> {
  const separator = text.lastIndexOf("=");
  if (separator < 0) return { default: parseThreshold(text) };
  const kind = text.slice(0, separator).trim();
  const share = text.slice(separator + 1).trim();
  if ((memories as readonly string[]).includes(kind)) return { memory: { [kind]: parseThreshold(share) } };
  const meant = nearestWord(kind, memories);
  const choices = `Give one kind to each --threshold. Choose from ${memories.join(", ")}.`;
  throw new PinbenchError("usage", `"${kind}" is not a memory kind.`, {
    hint: meant === null ? choices : `Did you mean ${meant}=${share}? ${choices}`,
  });
}
