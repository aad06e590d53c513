import type { BlockWay } from "../../settings/choices.js";
import { KiB } from "../../settings/units.js";
import { ratioInterval } from "../claimed-interval.js";
import type { BlockCell, BlockColumn, RatedSize, RatedWay } from "./block-columns.js";
import { latticeBytes, placeOf } from "./block-lattice.js";

/*
 * From which block size on another way is the best: which sizes to measure next, and what those that were measured tell.
 */

/** A way counts as better if it is faster by this much for certain: nobody changes a server for less. */
const leastGain = 0.02;

/** What a size says of the ways. */
export interface SizeVerdict {
  bytes: number;
  fastest: RatedWay;
  /** The best contender; null if none is better than all others for certain. */
  best: string | null;
  /** The fastest way of each contender that may be the best. */
  rivals: RatedWay[];
}

/** The best way changes between two sizes. */
export interface Cutoff {
  /** The largest size at which the one way is the best for certain, and the smallest one of the other way. */
  leastBytes: number;
  mostBytes: number;
  /** The size to write into a configuration: the middle of both on a scale of ratios, in whole KiB. */
  bytes: number;
  below: RatedWay;
  above: RatedWay;
}

/**
 * What moves the bytes. Servers choose between these: ways of one mover are not played off against each other, as a loop and
 * a batch are alike for large blocks, and a kernel on some of the multiprocessors is one still.
 */
const moverOf: Readonly<Record<BlockWay, string>> = {
  loop: "copy engine",
  batch: "copy engine",
  "batch-any": "copy engine",
  "batch-during": "copy engine",
  "batch-ce": "copy engine",
  kernel: "kernel",
  gather: "CPU",
};

/** The verdict of each size of a column, ascending. If all ways have one mover, each way is a contender itself. */
export function verdictsOf({ sizes }: Pick<BlockColumn, "sizes">): SizeVerdict[] {
  const ways = sizes.flatMap((size) => size.ways.map(({ cell }) => cell.blockWay!));
  const hasMovers = new Set(ways.map((way) => moverOf[way])).size > 1;
  const contenderOf = ({ cell }: RatedWay) => (hasMovers ? moverOf[cell.blockWay!] : cell.blockWay!);
  return sizes.map((size) => verdictOf(size, contenderOf));
}

function verdictOf({ bytes, ways }: RatedSize, contenderOf: (way: RatedWay) => string): SizeVerdict {
  const ranked = ways.toSorted((a, b) => b.rate.median - a.rate.median);
  const firsts = [...new Map(ranked.toReversed().map((way) => [contenderOf(way), way])).values()].sort(
    (a, b) => b.rate.median - a.rate.median,
  );
  const fastest = firsts[0]!;
  const isBehind = (way: RatedWay) => ratioInterval(fastest.rate, way.rate).low > 1 + leastGain;
  const rivals = firsts.filter((way) => way === fastest || !isBehind(way));
  const isDecided = rivals.length === 1 && firsts.length > 1;
  return { bytes, fastest, best: isDecided ? contenderOf(fastest) : null, rivals };
}

/** A size to be measured in some ways. */
export interface AskedSize {
  bytes: number;
  ways: BlockCell[];
}

/**
 * The sizes of the lattice that halve each gap in which the best way changes, with the ways that may be the best there. None
 * where the gaps are as narrow as the lattice, and where the verdicts agree.
 */
export function sizesToMeasure(column: Pick<BlockColumn, "sizes">): AskedSize[] {
  const verdicts = verdictsOf(column);
  const decided = verdicts.flatMap(({ best }, i) => (best === null ? [] : [i]));
  const gaps = decided.slice(1).flatMap((end, i) => {
    const start = decided[i]!;
    if (verdicts[start]!.best === verdicts[end]!.best) return [];
    // Undecided sizes in between have a border on either side, and the middle of them tells nothing new.
    const borders = end - start === 1 ? [start] : [start, end - 1];
    return borders.map((place) => [verdicts[place]!, verdicts[place + 1]!] as const);
  });
  return gaps.flatMap(([one, other]) => {
    const [first, last] = [placeOf(one.bytes), placeOf(other.bytes)];
    if (first < 0 || last - first < 2) return [];
    const ways = [...one.rivals, ...other.rivals].map(({ cell }) => cell);
    const distinct = new Map(ways.map((cell) => [`${cell.blockWay}/${cell.blockSms}`, cell]));
    return [{ bytes: latticeBytes[Math.floor((first + last) / 2)]!, ways: [...distinct.values()] }];
  });
}

/** Where the best way changes, ascending; none where the ways cannot be told apart. */
export function cutoffsOf(verdicts: readonly SizeVerdict[]): Cutoff[] {
  const decided = withoutIslands(verdicts.filter(({ best }) => best !== null));
  return decided.slice(1).flatMap((above, i): Cutoff[] => {
    const below = decided[i]!;
    if (below.best === above.best) return [];
    const [leastBytes, mostBytes] = [below.bytes, above.bytes];
    const bytes = Math.round(Math.sqrt(leastBytes * mostBytes) / KiB) * KiB;
    return [{ leastBytes, mostBytes, bytes, below: below.fastest, above: above.fastest }];
  });
}

/**
 * Without single sizes that contradict their neighbours in the lattice, as chance makes them among many: the search has
 * looked on both sides of each, and a real change is wider than a step.
 */
function withoutIslands(decided: readonly SizeVerdict[]): SizeVerdict[] {
  const isNext = (one: SizeVerdict, other: SizeVerdict) => placeOf(other.bytes) - placeOf(one.bytes) <= 1;
  return decided.filter((verdict, i) => {
    const [before, after] = [decided[i - 1], decided[i + 1]];
    const differs = (other: SizeVerdict) => other.best !== verdict.best;
    const isCutOffBelow = before === undefined || (differs(before) && isNext(before, verdict));
    const isCutOffAbove = after === undefined || (differs(after) && isNext(verdict, after));
    const isAlone = before === undefined && after === undefined;
    return isAlone || !(isCutOffBelow && isCutOffAbove);
  });
}
