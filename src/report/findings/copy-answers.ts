import {
  formatGBps,
  formatMicroseconds,
  formatRange,
  formatRatio,
  formatShare,
  formatWholeShare,
  roundUp,
  saysAnything,
} from "../../draw/numbers.js";
import { counted, listed } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { type IntervalEstimate, ratioInterval } from "../../results/claimed-interval.js";
import type { ColdStart, ResultDocument } from "../../results/schema.js";
import type { Memory, WorkerKind } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { relativeHalfWidth } from "../../stats/order-statistics.js";
import {
  comparableCells,
  equalWidth,
  fastest,
  type Observation,
  observe,
  ofMemory,
  type Pair,
  pairUp,
  sizesOf,
  whyOpen,
} from "./finding-evidence.js";
import { latencyByMemory, pinnedAgainstPageable, shareRange, type Topic } from "./finding-topics.js";

/** A conclusion on plain copies, without a full stop. */
interface CopyAnswer {
  text: string;
  device: number;
  /** Closing lines that would only repeat it. */
  covers: readonly Topic[];
}

/** What pinning gains, or else how fast plain copies are; and the share of the link. */
export function answersOnCopies(document: ResultDocument): CopyAnswer[] {
  const terms = termsOf(document);
  if (terms === null) return [];
  const rates = [...pinningGain(terms), ...linkShare(terms)];
  const ofRates = rates.length > 0 ? rates : plainRates(terms);
  return (ofRates.length > 0 ? ofRates : latencies(terms)).map((one) => ({ ...one, device: terms.device }));
}

/** The share of the link that the answer names for a direction, such as "88.1 %"; null if it names none. */
export function answeredShare(document: ResultDocument, direction: OneWay): string | null {
  const terms = termsOf(document);
  const found = terms && linkShares(terms).find((one) => one.direction === direction);
  return found ? formatShare(found.share.median) : null;
}

function termsOf(document: ResultDocument): AnswerTerms | null {
  const cells = comparableCells(document);
  const [first] = cells;
  if (first === undefined) return null;
  const kind: WorkerKind = cells.some(({ workerKind }) => workerKind === "thread") ? "thread" : "process";
  return { document, cells, kind, device: first.device, width: equalWidth(document) };
}

interface AnswerTerms {
  document: ResultDocument;
  cells: readonly CellResult[];
  kind: WorkerKind;
  device: number;
  /** Largest relative half-width with which figures may count as equal. */
  width: number;
}

type Sentence = Omit<CopyAnswer, "device">;

export const oneWay = ["h2d", "d2h"] as const;
export type OneWay = (typeof oneWay)[number];

/** Directions in a sentence. */
const way: Readonly<Record<OneWay | "bidir" | "d2d", string>> = {
  h2d: "to the device",
  d2h: "from the device",
  bidir: "both ways at once",
  d2d: "within the device",
};

const bothWays = "to the device and back";

const ordinary = "ordinary (pageable) memory";

/** A kind of memory in ordinary words. */
const memoryName: Readonly<Record<Memory, string>> = {
  pageable: ordinary,
  staged: "ordinary memory that pinbench stages",
  host: "the CPU",
  pinned: "pinned memory",
  registered: "registered memory",
  "write-combined": "write-combined memory",
  mapped: "mapped memory",
  system: "system memory",
  device: "device memory",
};

/** What one direction shows of pinned and pageable memory. */
interface DirectionPairs {
  direction: OneWay;
  pairs: readonly Pair[];
  /** The largest size with a conclusive ratio; undefined without one. */
  main: Pair | undefined;
}

/** How much faster pinned memory is than pageable, at the largest conclusive size, and when pinning pays off. */
function pinningGain({ document, cells, kind, device, width }: AnswerTerms): Sentence[] {
  const ways = oneWay.flatMap((direction): DirectionPairs[] => {
    const pairs = pairUp(observe(cells, direction, "throughput", kind), "pinned", "pageable", width);
    const main = pairs.findLast(({ order }) => order !== "open");
    return pairs.length === 0 ? [] : [{ direction, pairs, main }];
  });
  if (ways.length === 0) return [];
  const covers = ways.every(({ pairs }) => pairs.length === 1) ? [pinnedAgainstPageable] : [];
  const decided = ways.filter(({ main }) => main !== undefined);
  if (decided.length === 0) {
    const sizes = [...new Set(ways.flatMap(({ pairs }) => sizesOf(pairs)))];
    const at = sizes.length === 1 ? ` in copies of ${formatSize(sizes[0]!)}` : "";
    const compared = cells.filter(
      ({ mode, memory }) => mode === "throughput" && (memory === "pinned" || memory === "pageable"),
    );
    const text = `it is open whether pinned memory copies faster than ${ordinary}${at}: ${whyOpen(compared)}`;
    return [{ text, covers }];
  }
  const copies = decided.map(({ main }) => copiesText(main!));
  const isSame = new Set(copies).size === 1;
  const clauses = decided.map(({ direction, main }, i) => {
    const elsewhere = gainElsewhere(main!, i > 0);
    return gainClause(direction, main!, i > 0) + bracketed(elsewhere, isSame ? "" : copies[i]!);
  });
  const text =
    `pinned memory copies ${clauses.join(", and ")}${isSame ? `, in ${copies[0]}` : ""}` +
    exceptions(ways) +
    payOffText(
      document.coldStart.find((costs) => costs.device === device),
      ways,
    );
  return [{ text, covers }];
}

/** "5.2 times as fast as ordinary (pageable) memory to the device"; a later clause leaves out what it repeats. */
function gainClause(direction: OneWay, { order, ratio }: Pair, isLater: boolean): string {
  const than = (word: string) => (isLater ? "" : ` ${word} ${ordinary}`);
  const where = isLater && direction === "d2h" ? "back" : way[direction];
  switch (order) {
    case "above":
      return `${timesNumber(ratio.median)} times as fast${than("as")} ${where}`;
    case "below":
      return `only at ${formatWholeShare(ratio.median)} of ${isLater ? "its speed" : `the speed of ${ordinary}`} ${where}`;
    default:
      return `no faster${than("than")} ${where}`;
  }
}

/** Above this ratio of its ends, a range is given by its lower end alone. */
const widestRange = 3;

/** The range for other runs, "4.6 to 5.9 in other runs" or "at least 2.5 in other runs"; "" without one to give. */
function gainElsewhere({ order, ratio }: Pair, isLater: boolean): string {
  if (order === "below") return elsewhere(shareRange(ratio), formatWholeShare(ratio.median), isLater);
  if (order !== "above") return "";
  const [least, most] = [timesNumber(ratio.low), timesNumber(ratio.high, roundUp)];
  const isWide = ratio.high > widestRange * ratio.low;
  const range = isWide ? `at least ${least}` : least === most ? least : `${least} to ${most}`;
  return elsewhere(range, timesNumber(ratio.median), isLater);
}

function timesNumber(ratio: number, round?: typeof roundUp): string {
  return formatRatio(ratio, round).replace("×", "");
}

/**
 * What other runs find. Tables show this run's median, so a sentence gives that first and this range after it. "" if both
 * look the same. A later clause does not repeat the words.
 */
function elsewhere(range: string, figure: string, isLater = false): string {
  return range === figure ? "" : `${range}${isLater ? "" : " in other runs"}`;
}

/** The texts that are not empty, in brackets. */
function bracketed(...parts: readonly string[]): string {
  const some = parts.filter((part) => part !== "");
  return some.length === 0 ? "" : ` (${some.join("; ")})`;
}

function copiesText({ sizeBytes, workers }: Pair): string {
  return `copies of ${formatSize(sizeBytes)}${workers === 1 ? "" : ` by ${counted(workers, "worker")} each`}`;
}

/** Sizes whose verdict differs from the main size's, grouped by verdict, and a direction without a verdict. */
function exceptions(ways: readonly DirectionPairs[]): string {
  const decided = ways.filter(({ main }) => main !== undefined);
  const other = sizesWhere(decided, ({ order }, main) => order !== "open" && order !== main.order);
  const open = sizesWhere(decided, ({ order }) => order === "open");
  const undecided = ways.find(({ main }) => main === undefined);
  const uncertain =
    undecided === undefined
      ? open && `; not certain ${open}`
      : `; it is not certain whether it is faster ${way[undecided.direction]}` +
        (open && `, or ${open} ${decided.map(({ direction }) => way[direction]).join()}`);
  return (other && `; this is not so ${other}`) + uncertain;
}

/** "at 64 KiB and 1 MiB"; "at 64 KiB from the device", or the number of sizes, if the two directions differ. */
function sizesWhere(ways: readonly DirectionPairs[], isMeant: (pair: Pair, main: Pair) => boolean): string {
  const meant = ways.map(({ direction, pairs, main }) => {
    const sizes = sizesOf(pairs.filter((pair) => isMeant(pair, main!)));
    const at = sizes.length > mostSizes ? `${sizes.length} other sizes` : listed(sizes.map(formatSize));
    return { key: sizes.join(), at: sizes.length === 0 ? "" : `at ${at}`, where: way[direction] };
  });
  if (new Set(meant.map(({ key }) => key)).size === 1) return meant[0]!.at;
  if (meant.every(({ at }) => at !== "")) {
    const either = new Set(meant.flatMap(({ key }) => key.split(",")));
    return `at ${counted(either.size, "other size")}`;
  }
  return listed(meant.flatMap(({ at, where }) => (at === "" ? [] : [`${at} ${where}`])));
}

/** More sizes than this are counted. */
const mostSizes = 3;

/**
 * Copies after which pinning a buffer pays off, from medians: with the cheaper way of pinning, in the slower direction of
 * those in which pinned memory is faster. Sizes without a count are left out.
 */
function payOffText(costs: ColdStart | undefined, ways: readonly DirectionPairs[]): string {
  const directions = ways.flatMap(({ direction, main }) => (main?.order === "above" ? [direction] : []));
  if (costs === undefined || costs.pinning.length === 0 || directions.length === 0) return "";
  // A copy in the other direction gains nothing.
  const goes = directions.length === ways.length ? "" : ` whose bytes go ${way[directions[0]!]}`;
  const pinning = `Pinning a buffer${goes}`;
  const known = costs.pinning
    .flatMap((record) => {
      const copies = directions.map((direction) => {
        const ofWays = (["pinned", "registered"] as const).flatMap(
          (one) => record.payOff?.[one]?.[direction] ?? [],
        );
        return ofWays.length === 0 ? null : Math.min(...ofWays);
      });
      const isKnown = copies.every((one) => one !== null);
      return isKnown ? [{ sizeBytes: record.sizeBytes, copies: Math.max(...copies) }] : [];
    })
    .sort((a, b) => a.sizeBytes - b.sizeBytes);
  if (known.length === 0) return `. When p${pinning.slice(1)} pays off is not known`;
  const counts = known.map(({ copies }) => copies);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (most <= 1) return `. ${pinning} pays off with its first copy${limits(known, costs)}`;
  // From the smallest size from which on the first copy has paid for pinning.
  const from = known[known.findLastIndex(({ copies }) => copies > 1) + 1];
  const range = least === most ? counted(most, "copy", "copies") : `${least} to ${most} copies`;
  return from === undefined
    ? `. ${pinning} pays off after about ${range}${limits(known, costs)}`
    : `. ${pinning} pays off with its first copy from ${formatSize(from.sizeBytes)} on, and after at most about ${most} copies if it is smaller${limits(known, costs)}`;
}

/** The number of sizes with a count, if others have none. */
function limits(known: readonly unknown[], { pinning }: ColdStart): string {
  const missing = pinning.length - known.length;
  return missing === 0 ? "" : ` (known for ${known.length} of ${pinning.length} sizes)`;
}

/** The share of the link that the fastest pinned copies of each direction reach, if pageable ones were measured too. */
function linkShares({ document, cells, kind, device }: AnswerTerms) {
  const limitGBps = document.devices.find(({ ordinal }) => ordinal === device)?.linkLimitGBps ?? null;
  if (limitGBps === null) return [];
  return oneWay.flatMap((direction) => {
    const rates = observe(cells, direction, "throughput", kind);
    if (ofMemory(rates, "pageable").length === 0) return [];
    const best = fastest(telling(ofMemory(rates, "pinned")));
    return best === null || !isWithin(best.estimate, limitGBps)
      ? []
      : [{ direction, share: limited(best.estimate, limitGBps) }];
  });
}

function linkShare(terms: AnswerTerms): Sentence[] {
  const shares = linkShares(terms);
  const [first, second] = shares;
  if (first === undefined) return [];
  const [to, back] = shares.map(({ share }) => formatShare(share.median));
  const [range, backRange] = shares.map(({ share }) => shareRange(share));
  const isOneRange = second === undefined || range === backRange;
  const inOtherRuns = bracketed(elsewhere(range!, to!, false));
  const what = "of what the link can carry";
  const clauses =
    second !== undefined && to === back && isOneRange
      ? `${to} ${what} ${bothWays}`
      : `${to} ${what} ${way[first.direction]}${isOneRange ? "" : `${inOtherRuns},`}` +
        (second === undefined ? "" : ` and ${back} back`);
  const last = isOneRange ? inOtherRuns : bracketed(elsewhere(backRange!, back!, true));
  return [{ text: `pinned memory reaches ${clauses}${last}`, covers: [] }];
}

/** Whether the limit is plausible: rates certainly above it show that the machine misreports its link, as VMs do. */
function isWithin({ low }: IntervalEstimate, limitGBps: number | null): boolean {
  return limitGBps === null || low <= limitGBps;
}

/** Cut off at the limit, which no copy exceeds. */
function limited(rate: IntervalEstimate, limitGBps: number): IntervalEstimate {
  const exact = { median: limitGBps, low: limitGBps, high: limitGBps };
  const { median, low, high } = ratioInterval(rate, exact);
  return { median: Math.min(1, median), low: Math.min(1, low), high: Math.min(1, high) };
}

/** Estimates with usable intervals. */
function telling(observations: readonly Observation[]): Observation[] {
  return observations.filter(({ estimate }) => saysAnything(relativeHalfWidth(estimate, estimate.median)));
}

/** The rate of the fastest kind, if pinned and pageable memory cannot be compared. */
function plainRates({ document, cells, kind, device }: AnswerTerms): Sentence[] {
  const limitGBps = document.devices.find(({ ordinal }) => ordinal === device)?.linkLimitGBps ?? null;
  const all = [...oneWay, "bidir", "d2d"] as const;
  const parts = all.flatMap((direction) => {
    const best = fastest(telling(observe(cells, direction, "throughput", kind)));
    return best === null ? [] : [{ direction, best }];
  });
  // Copies both ways at once or within the device count only if none goes one way.
  const ofOneWay = parts.filter(({ direction }) => direction === "h2d" || direction === "d2h");
  const rates = (ofOneWay.length > 0 ? ofOneWay : parts.slice(0, 1)).map(({ direction, best }) => {
    const { memory, sizeBytes, workers, estimate } = best;
    const isOneWay = direction === "h2d" || direction === "d2h";
    const hasLimit = limitGBps !== null && isOneWay && isWithin(estimate, limitGBps);
    const share = hasLimit
      ? `, ${formatShare(limited(estimate, limitGBps).median)} of what the link can carry`
      : "";
    const copies = `copies of ${formatSize(sizeBytes)} by ${counted(workers, "worker")}`;
    return { memory, direction, estimate, share, copies };
  });
  const [first, second] = rates;
  if (first === undefined) return [];
  const isPair = second !== undefined && first.memory === second.memory;
  const isSame = isPair && first.copies === second.copies;
  const clause = ({ direction, estimate, share, copies }: typeof first, isLater: boolean) => {
    const rate = formatGBps(estimate.median);
    const where = isLater ? "back" : way[direction];
    const others = elsewhere(formatRange(estimate), rate, isLater);
    return `${rate} GB/s ${where}${share}${bracketed(others, isSame ? "" : copies)}`;
  };
  const sentence = (some: readonly (typeof first)[]) =>
    `${memoryName[some[0]!.memory]} copies ${some.map((one, i) => clause(one, i > 0)).join(", and ")}` +
    (isSame ? `, in ${first.copies}` : "");
  return (isPair ? [rates] : rates.map((one) => [one])).map((some) => ({ text: sentence(some), covers: [] }));
}

/** How long a small copy takes, at the smallest size. */
function latencies({ cells, kind, width }: AnswerTerms): Sentence[] {
  const ways = oneWay.flatMap((direction) => {
    const observed = observe(cells, direction, "latency", kind);
    const [pair] = pairUp(observed, "pinned", "pageable", width);
    return pair === undefined && telling(observed).length === 0 ? [] : [{ direction, observed, pair }];
  });
  const covers = ways.every(({ pair }) => pair !== undefined) ? [latencyByMemory] : [];
  const [first, second] = ways;
  const isOpen = ({ pair }: (typeof ways)[number]) => pair?.order === "open";
  const sizes = new Set(ways.flatMap(({ pair }) => pair?.sizeBytes ?? []));
  if (first !== undefined && second !== undefined && isOpen(first) && isOpen(second) && sizes.size === 1) {
    return [{ text: openLatency(first.pair!, "in either direction"), covers }];
  }
  return ways.flatMap(({ direction, observed, pair }) => {
    if (pair !== undefined) return [{ text: latencyText(pair, way[direction]), covers }];
    const shown = telling(observed);
    const sizeBytes = Math.min(...sizesOf(shown));
    const quickest = quickestOf(shown.filter((one) => one.sizeBytes === sizeBytes));
    const time = formatMicroseconds(quickest.estimate.median);
    const others = bracketed(elsewhere(formatRange(quickest.estimate), time));
    const copy = `a copy of ${formatSize(sizeBytes)} ${way[direction]}`;
    return [{ text: `${copy} takes ${time} µs with ${memoryName[quickest.memory]}${others}`, covers }];
  });
}

/** Takes at least one value. */
function quickestOf(observed: readonly Observation[]): Observation {
  return observed.toSorted((a, b) => a.estimate.median - b.estimate.median)[0]!;
}

function openLatency({ sizeBytes }: Pair, where: string): string {
  return `the times vary too much to show whether a copy of ${formatSize(sizeBytes)} takes longer with ${ordinary} than with pinned memory, ${where}`;
}

function latencyText(pair: Pair, where: string): string {
  const { order, one, other, sizeBytes } = pair;
  if (order === "open") return openLatency(pair, where);
  const copy = `a copy of ${formatSize(sizeBytes)} ${where}`;
  const [pinned, pageable] = [one, other].map(({ median }) => `${formatMicroseconds(median)} µs`);
  const [ofPinned, ofPageable] = [one, other].map(formatRange);
  return order === "equal"
    ? `${copy} takes as long with pinned memory as with ${ordinary}: ${pinned} (${ofPinned} in other runs)`
    : `${copy} takes ${pinned} with pinned memory and ${pageable} with ${ordinary} (${ofPinned} and ${ofPageable} in other runs)`;
}
