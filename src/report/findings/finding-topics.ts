import {
  formatGBps,
  formatMicroseconds,
  formatRatio,
  formatWholeShare,
  roundUp,
} from "../../draw/numbers.js";
import { counted, listed, splitWords } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { type IntervalEstimate, ratioInterval } from "../../results/claimed-interval.js";
import type { ResultDocument } from "../../results/schema.js";
import type { WorkerKind } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import {
  compareIntervals,
  fastest,
  type IntervalOrder,
  leanestBest,
  observe,
  ofMemory,
  type Pair,
  pairUp,
  sharedSizes,
  sizesOf,
} from "./finding-evidence.js";

/**
 * One clause on what the cells show about one question in one direction; null without figures. Ratios are ranges that
 * other processes also find. If no cell shows a difference or equality (intervals up to the relative half-width
 * `equalWidth`), the clause says so.
 */
export type Topic = (
  cells: readonly CellResult[],
  direction: "h2d" | "d2h",
  equalWidth: number,
) => string | null;

/** How much faster pinned is than pageable, by size, with the fewest workers that both were measured with. */
export const pinnedAgainstPageable: Topic = (cells, direction, equalWidth) => {
  const rates = observe(cells, direction, "throughput");
  const pairs = pairUp(rates, "pinned", "pageable", equalWidth);
  if (pairs.length === 0) return null;
  const where = (order: IntervalOrder) => pairs.filter((pair) => pair.order === order);
  const ratios = (some: readonly Pair[]) => some.map(({ ratio }) => ratio);
  const sizes = (some: readonly Pair[]) => describeSizes(sizesOf(some), sizesOf(pairs));
  const [faster, slower, equal] = [where("above"), where("below"), where("equal")];
  const clauses: string[] = [];
  if (faster.length > 0) clauses.push(`pinned is ${ratioRange(ratios(faster))} pageable ${sizes(faster)}`);
  if (slower.length > 0) {
    const [subject, object] = clauses.length > 0 ? ["", ""] : ["pinned is ", "pageable "];
    clauses.push(`${subject}only ${ratioRange(ratios(slower))} ${object}${sizes(slower)}`);
  }
  if (equal.length > 0) {
    clauses.push(`${clauses.length > 0 ? "it" : "pinned"} gains nothing ${sizes(equal)}`);
  }
  const variesWorkers = new Set(rates.map((rate) => rate.workers)).size > 1;
  const workers = variesWorkers ? `, with ${counted(pairs[0]!.workers, "worker")}` : "";
  const open = `these intervals do not show whether pinned or pageable is faster ${sizes(pairs)}`;
  return (clauses.length > 0 ? listed(clauses) : open) + workers;
};

/** How close pageable memory staged by pinbench comes to pinned, at the largest size. */
export const stagedAgainstPinned: Topic = (cells, direction, equalWidth) => {
  const rates = observe(cells, direction, "throughput");
  const sizeBytes = sharedSizes(ofMemory(rates, "staged"), ofMemory(rates, "pinned")).at(-1);
  const atSize = rates.filter((rate) => rate.sizeBytes === sizeBytes);
  const best = leanestBest(ofMemory(atSize, "staged"), equalWidth);
  const pinned = fastest(ofMemory(atSize, "pinned"));
  const pageable = fastest(ofMemory(atSize, "pageable"));
  if (sizeBytes === undefined || best === null || pinned === null) return null;
  const size = formatSize(sizeBytes);
  const againstPageable =
    pageable === null ? null : compareIntervals(best.estimate, pageable.estimate, equalWidth);
  if (againstPageable === "below" || againstPageable === "equal") {
    return `staging gains nothing over the driver's own pageable copies at ${size}`;
  }
  if (againstPageable === "open") {
    return `these intervals do not show whether staging or the driver's own pageable copies are faster at ${size}`;
  }
  const workers = counted(best.workers, "staging worker");
  const verb = best.workers === 1 ? "reaches" : "reach";
  switch (compareIntervals(best.estimate, pinned.estimate, equalWidth)) {
    case "equal":
      return `${workers} ${verb} the rate of pinned from pageable memory at ${size}`;
    case "open":
      return pageable === null
        ? `these intervals do not show whether staging or pinned is faster at ${size}`
        : `${workers} ${verb} ${ratioRange([ratioInterval(best.estimate, pageable.estimate)])} the rate of the driver's own pageable copies at ${size}`;
    default:
      return `${workers} ${verb} ${shareRange(ratioInterval(best.estimate, pinned.estimate))} of pinned from pageable memory at ${size}`;
  }
};

/** Whether more workers of this kind make pageable copies faster, at the largest size; `noun` names one of them. */
export function workersOnPageable(kind: WorkerKind, noun: string, nouns = `${noun}s`): Topic {
  return (cells, direction, equalWidth) => {
    const pageable = ofMemory(observe(cells, direction, "throughput", kind), "pageable");
    const repeated = sizesOf(pageable).filter((size, index, sizes) => sizes.indexOf(size) !== index);
    const sizeBytes = Math.max(...repeated);
    const [fewest, ...more] = pageable
      .filter((rate) => rate.sizeBytes === sizeBytes)
      .sort((a, b) => a.workers - b.workers);
    const best = leanestBest(more, equalWidth);
    if (fewest === undefined || best === null) return null;
    const size = formatSize(sizeBytes);
    const ratio = ratioRange([ratioInterval(best.estimate, fewest.estimate)]);
    switch (compareIntervals(best.estimate, fewest.estimate, equalWidth)) {
      case "above":
        return `${counted(best.workers, noun, nouns)} make pageable ${ratio} as fast as ${fewest.workers} at ${size}`;
      case "equal":
        return `pageable does not get faster with ${nouns} at ${size}`;
      case "open":
        return `these intervals do not show whether pageable is faster with ${fewest.workers} or with ${counted(best.workers, noun, nouns)} at ${size}`;
      case "below":
        return `pageable gets slower with ${nouns} at ${size}: ${ratio} with ${best.workers}`;
    }
  };
}

/** Registered, write-combined, mapped and system memory compared with pinned, each at the largest size that both have. */
export const otherKindsAgainstPinned: Topic = (cells, direction, equalWidth) => {
  const rates = observe(cells, direction, "throughput");
  const open: string[] = [];
  const clauses = (["registered", "write-combined", "mapped", "system"] as const).flatMap((memory) => {
    const pair = pairUp(rates, memory, "pinned", equalWidth).at(-1);
    if (pair === undefined) return [];
    const size = formatSize(pair.sizeBytes);
    if (pair.order === "open") {
      open.push(`${memory} at ${size}`);
      return [];
    }
    return pair.order === "equal"
      ? [`${memory} is as fast as pinned at ${size}`]
      : [`${memory} reaches ${shareRange(pair.ratio)} of pinned at ${size}`];
  });
  if (clauses.length > 0) return listed(clauses);
  return open.length === 0
    ? null
    : `these intervals do not show whether pinned is faster than ${listed(open)}`;
};

/** The time of a small copy from pinned and from pageable memory, at the smallest size. */
export const latencyByMemory: Topic = (cells, direction, equalWidth) => {
  const [pair] = pairUp(observe(cells, direction, "latency"), "pinned", "pageable", equalWidth);
  if (pair === undefined) return null;
  const size = formatSize(pair.sizeBytes);
  const [pinned, pageable] = [pair.one, pair.other].map(({ median }) => `${formatMicroseconds(median)} µs`);
  if (pair.order === "open") {
    return `these intervals do not show whether a copy of ${size} is faster from pinned or from pageable memory`;
  }
  return pair.order === "equal"
    ? `a copy of ${size} takes as long from pinned as from pageable memory`
    : `a copy of ${size} took ${pinned} with pinned memory and ${pageable} with pageable`;
};

/**
 * The fastest cell that copies in both directions at once, compared with each direction alone; null if one of the three
 * was not measured.
 */
export function bothDirections(cells: readonly CellResult[], equalWidth: number): string | null {
  const together = fastest(observe(cells, "bidir", "throughput"));
  if (together === null) return null;
  const { memory, sizeBytes, workers, estimate } = together;
  const [h2d, d2h] = (["h2d", "d2h"] as const).map((direction) => {
    const alone = ofMemory(observe(cells, direction, "throughput"), memory);
    return alone.find((one) => one.sizeBytes === sizeBytes && one.workers === workers)?.estimate;
  });
  if (h2d === undefined || d2h === undefined) return null;
  const apart = { median: h2d.median + d2h.median, low: h2d.low + d2h.low, high: h2d.high + d2h.high };
  const verdict = compareIntervals(estimate, apart, equalWidth);
  const measure = verdict === "equal" ? "as much as" : `${shareRange(ratioInterval(estimate, apart))} of`;
  return (
    `both directions at once moved ${formatGBps(estimate.median)} GB/s` +
    `${verdict === "open" ? "" : `, ${measure} H2D and D2H alone together`} ` +
    `(${memory}, ${formatSize(sizeBytes)}, ${counted(workers, "worker")})`
  );
}

/** The range of these ratios: "2.0× to 3.0×", or "2.0×" if both ends look the same. */
export function ratioRange(ratios: readonly IntervalEstimate[]): string {
  const least = Math.min(...ratios.map(({ low }) => low));
  return range(least, Math.max(...ratios.map(({ high }) => high)), formatRatio);
}

/** "91 % to 93 %", or "92 %". */
export function shareRange({ low, high }: IntervalEstimate): string {
  return range(low, high, formatWholeShare);
}

/** Rounded outwards: an inward-rounded range would exclude figures that another process may find. */
function range(low: number, high: number, format: (value: number, round?: typeof roundUp) => string): string {
  const [least, most] = [format(low), format(high, roundUp)];
  return least === most ? least : `${least} to ${most}`;
}

/** Most sizes that are named; more are counted. */
const mostNamed = 3;

/** The sizes among the measured ones, in words: "at every size", "from 1 MiB up", "at 64 KiB and 16 MiB". */
function describeSizes(some: readonly number[], all: readonly number[]): string {
  const named = `at ${listed(some.map(formatSize))}`;
  if (some.length === 1) return named;
  if (some.length === all.length) return "at every size";
  const first = all.indexOf(some[0]!);
  const contiguous = some.every((size, index) => all[first + index] === size);
  if (contiguous && first + some.length === all.length) return `from ${formatSize(some[0]!)} up`;
  if (contiguous && first === 0) return `up to ${formatSize(some.at(-1)!)}`;
  return some.length <= mostNamed ? named : `at ${some.length} of ${all.length} sizes`;
}

/*
 * The answer to a question on variants.
 */

export interface VariantFinding {
  text: string;
  /** The cells whose devices it is about; empty if its text names them, null if it has no figures. */
  cells: readonly CellResult[] | null;
}

/** The lines on one question, and the most important one. */
export interface QuestionFindings {
  lines: readonly VariantFinding[];
  main: VariantFinding | undefined;
}

/** The question with these lines, the most important first. */
export function firstOf(lines: readonly VariantFinding[]): QuestionFindings {
  return { lines, main: lines[0] };
}

/** The basis of the answers besides the cells. */
export interface Terms {
  document: ResultDocument;
  equalWidth: number;
  /** The cell for the rate of another one alone, if it counts as evidence. */
  aloneOf: (cell: CellResult) => CellResult | undefined;
}

/** If more words differ, two clauses are easier to read than one. */
const mostDifferingWords = 4;

/**
 * One line from the clauses for the two directions (null without a finding). Common words appear once: "pinned is 3.0×
 * (H2D) and 2.8× (D2H) pageable from 1 MiB up".
 */
export function joinDirections(h2d: string | null, d2h: string | null): string | null {
  if (h2d === null) return d2h === null ? null : `${d2h} (D2H)`;
  if (d2h === null) return `${h2d} (H2D)`;
  return h2d === d2h ? `${h2d} (H2D and D2H)` : (mergeFigures(h2d, d2h) ?? `H2D: ${h2d}; D2H: ${d2h}`);
}

/** One line for h2d and d2h, and one for both directions at once. */
export function byDirection(clauseOf: (direction: "h2d" | "d2h" | "bidir") => string | null): string[] {
  const oneWay = joinDirections(clauseOf("h2d"), clauseOf("d2h"));
  const bothWays = clauseOf("bidir");
  return [
    ...(oneWay === null ? [] : [oneWay]),
    ...(bothWays === null ? [] : [`${bothWays} (both directions)`]),
  ];
}

/** Null unless the two differ in exactly one figure. */
function mergeFigures(h2d: string, d2h: string): string | null {
  const [one, other] = [wordsOf(h2d), wordsOf(d2h)];
  const before = commonLength(one, other);
  const after = commonLength(one.slice(before).reverse(), other.slice(before).reverse());
  const differing = [one, other].map((words) => words.slice(before, words.length - after));
  const areFigures = differing.every(
    (words) => words.length <= mostDifferingWords && /^\d/.test(words[0] ?? ""),
  );
  if (!areFigures) return null;
  const [figureOfH2d, figureOfD2h] = differing.map((words) => words.join(" "));
  return [
    ...one.slice(0, before),
    `${figureOfH2d} (H2D) and ${figureOfD2h} (D2H)`,
    ...one.slice(one.length - after),
  ].join(" ");
}

/** A range is one word, because neither end has a meaning alone. */
function wordsOf(text: string): string[] {
  const joined: string[] = [];
  for (const word of splitWords(text)) {
    const isRange = joined.at(-1) === "to" && /^\d/.test(word) && /^\d/.test(joined.at(-2) ?? "");
    joined.push(isRange ? `${joined.splice(-2).join(" ")} ${word}` : word);
  }
  return joined;
}

function commonLength(one: readonly string[], other: readonly string[]): number {
  const end = one.findIndex((word, index) => word !== other[index]);
  return end === -1 ? Math.min(one.length, other.length) : end;
}
