import { claimedInterval, type IntervalEstimate, ratioInterval } from "../results/claimed-interval.js";
import type { CellResult } from "../results/schema.js";
import type { BlockWay, Memory } from "../settings/choices.js";
import { formatSize } from "../settings/units.js";
import { statsOf } from "./cell-figure.js";
import { compareIntervals } from "./finding-evidence.js";
import { ratioRange, shareRange } from "./finding-topics.js";
import { formatNanoseconds, formatWholeShare } from "./format-number.js";
import { joinDirections } from "./join-directions.js";
import type { Terms, VariantFinding } from "./variant-question.js";
import { counted, listed } from "./wording.js";

/*
 * The closing lines on copies in scattered blocks: from which size of a block on a plain loop of copies is enough, and what
 * is worth while below that.
 */

/**
 * A loop that copies this share of what the fastest way does is called enough: the simplest way, and what others gain is less
 * than most programs would notice. Where loops come near the link, at about 1 MiB, they reach 88 to 90 %: with a limit of
 * 90 % one process would say yes and the next one no.
 */
const enoughShare = 0.8;

/** The lines of one kind of memory after the other; of each the first says from where on a loop is enough. */
export function blockFindings(cells: readonly CellResult[], terms: Terms): VariantFinding[] {
  const workers = Math.min(...cells.map((cell) => cell.workers));
  const ofWorkers = cells.filter((cell) => cell.workers === workers);
  const by = workers === 1 ? "" : `, by ${counted(workers, "worker")}`;
  const kinds = (["pinned", "pageable"] as const).map((memory) => {
    const [h2d, d2h] = [blocksOf(ofWorkers, "h2d", memory, terms), blocksOf(ofWorkers, "d2h", memory, terms)];
    const line = (subject: string, clauseOf: (blocks: readonly RatedBlocks[]) => string | null) => {
      const text = joinDirections(clauseOf(h2d), clauseOf(d2h));
      return text === null ? [] : [{ text: subject + text, cells: ofWorkers }];
    };
    const subject = `in scattered blocks of ${memory} memory${by}, `;
    return [
      ...line(subject, whereLoopIsEnough),
      ...line(subject, (blocks) => fastestOfSmallest(blocks, terms)),
      ...line(subject, (blocks) => fewMultiprocessors(blocks, terms)),
    ];
  });
  return kinds.flat();
}

/** What each way copies of blocks of one size. */
interface RatedBlocks {
  bytes: number;
  rates: RatedWay[];
}

interface RatedWay {
  cell: CellResult;
  rate: IntervalEstimate;
}

/** The blocks of one direction and kind of memory, ascending; of several counts the copies of the most bytes. */
function blocksOf(
  cells: readonly CellResult[],
  direction: "h2d" | "d2h",
  memory: Memory,
  terms: Terms,
): RatedBlocks[] {
  const own = cells.filter((cell) => cell.direction === direction && cell.memory === memory);
  const sizes = [...new Set(own.flatMap(({ blockBytes }) => blockBytes ?? []))].sort((a, b) => a - b);
  return sizes.map((bytes) => {
    const ofBlock = own.filter(({ blockBytes }) => blockBytes === bytes);
    const sizeBytes = Math.max(...ofBlock.map((cell) => cell.sizeBytes));
    const rates = ofBlock.flatMap((cell): RatedWay[] => {
      const rate = cell.sizeBytes === sizeBytes ? rateOf(cell, terms.aloneOf(cell)) : null;
      return rate === null ? [] : [{ cell, rate }];
    });
    return { bytes, rates };
  });
}

/**
 * What may be claimed of the rate of blocks. How far processes differ depends on what it waits for: a kernel waits for the
 * link alone, as pinned copies do; gathering for what a CPU copies, as staged ones do. Calls for blocks of pinned memory wait
 * for a CPU as far as they take longer than the copy in one piece: that share has the spread of pageable copies.
 */
function rateOf(cell: CellResult, whole: CellResult | undefined): IntervalEstimate | null {
  const direction = cell.direction === "d2h" ? "d2h" : "h2d";
  const of = (one: CellResult | undefined) => (one === undefined ? null : statsOf(one, direction));
  const [rate, wholeRate] = [of(cell), of(whole)].map((stats) => stats?.bandwidthGBps);
  if (rate === undefined || rate.median <= 0) return null;
  if (cell.blockWay === "gather") return claimedInterval("staged", rate);
  if (cell.blockWay === "kernel") return claimedInterval("pinned", rate);
  const ofCpu = claimedInterval("pageable", rate);
  const ofLink = claimedInterval("pinned", rate);
  if (cell.memory !== "pinned" || wholeRate === undefined || ofCpu === null || ofLink === null) return ofCpu;
  const cpuShare = Math.min(1, Math.max(0, 1 - rate.median / wholeRate.median));
  const between = (link: number, cpu: number) => link * (cpu / link) ** cpuShare;
  return { median: rate.median, low: between(ofLink.low, ofCpu.low), high: between(ofLink.high, ofCpu.high) };
}

/** A way with all that the device has. */
function isWhole({ cell }: RatedWay): boolean {
  return cell.blockSms === undefined;
}

type Enough = "yes" | "no" | "open";

/** Whether a loop is enough, and what it copies of what the fastest other way does; null where there is none. */
function isLoopEnough({ rates }: RatedBlocks): { enough: Enough; share: IntervalEstimate } | null {
  const loop = rates.find(({ cell }) => cell.blockWay === "loop");
  const others = rates.filter((one) => one !== loop).sort((a, b) => b.rate.median - a.rate.median);
  if (loop === undefined || others.length === 0) return null;
  const shares = others.map(({ rate }) => ratioInterval(loop.rate, rate));
  const isEnough = shares.every(({ low }) => low >= enoughShare);
  const enough = isEnough ? "yes" : shares.some(({ high }) => high < enoughShare) ? "no" : "open";
  return { enough, share: shares[0]! };
}

function whereLoopIsEnough(blocks: readonly RatedBlocks[]): string | null {
  const told = blocks.flatMap((one) => {
    const found = isLoopEnough(one);
    return found === null ? [] : [{ size: formatSize(one.bytes), ...found }];
  });
  const last = told.at(-1);
  if (last === undefined) return null;
  const lastNot = told.findLastIndex(({ enough }) => enough !== "yes");
  const first = told[lastNot + 1];
  if (first === undefined) {
    if (last.enough === "no") return `a loop of copies is not enough up to ${last.size}`;
    const no = told.findLast(({ enough }) => enough === "no");
    const upTo = no === undefined ? "" : `, and up to ${no.size} it is not`;
    return `whether a loop of copies is enough at ${last.size} cannot be told at these intervals${upTo}`;
  }
  const atLatest = told[lastNot]?.enough === "open" ? " at the latest" : "";
  const reaches =
    first.share.low >= 1
      ? "where no other way is as fast"
      : `where it copies at least ${formatWholeShare(first.share.low)} of what the fastest other way does`;
  return `a loop of copies is enough from ${first.size} on${atLatest}, ${reaches}`;
}

const wayName: Readonly<Record<BlockWay, string>> = {
  loop: "a loop",
  batch: "a batch",
  kernel: "a kernel",
  gather: "gathering",
};

/** Which way is fastest for the smallest blocks, by how much, and what the CPU has to do for it. */
function fastestOfSmallest(blocks: readonly RatedBlocks[], { equalWidth }: Terms): string | null {
  const [smallest] = blocks;
  const ways = smallest?.rates.filter(isWhole).toSorted((a, b) => b.rate.median - a.rate.median) ?? [];
  const [best, ...others] = ways;
  const loop = others.find(({ cell }) => cell.blockWay === "loop");
  if (smallest === undefined || best === undefined || others.length === 0) return null;
  const size = formatSize(smallest.bytes);
  const order = (one: RatedWay) => compareIntervals(best.rate, one.rate, equalWidth);
  if (loop === undefined || order(loop) !== "above")
    return `no way is faster than a loop for certain at ${size}`;
  const rivals = others.filter((one) => order(one) !== "above").map(({ cell }) => wayName[cell.blockWay!]);
  const names = [wayName[best.cell.blockWay!], ...rivals];
  const isFastest = `${listed(names)} ${names.length === 1 ? "is" : "are"} fastest at ${size}`;
  const gain = `${ratioRange([ratioInterval(best.rate, loop.rate)])} a loop`;
  const [bestNs, loopNs] = [best, loop].map(({ cell }) => cell.hostNsPerBlock?.median);
  const host =
    rivals.length > 0 || bestNs === undefined || loopNs === undefined
      ? ""
      : `, and takes a CPU ${formatNanoseconds(bestNs)} ns a block where a loop takes ${formatNanoseconds(loopNs)}`;
  return `${isFastest}, ${gain}${host}`;
}

/** What a kernel keeps of its rate where it leaves most multiprocessors to others. */
function fewMultiprocessors([smallest]: readonly RatedBlocks[], { equalWidth }: Terms): string | null {
  const kernels = smallest?.rates.filter(({ cell }) => cell.blockWay === "kernel") ?? [];
  const whole = kernels.find(isWhole);
  const few = kernels.filter((one) => !isWhole(one)).sort((a, b) => b.cell.blockSms! - a.cell.blockSms!);
  if (smallest === undefined || whole === undefined) return null;
  const clauses = few.flatMap(({ cell, rate }) => {
    const order = compareIntervals(rate, whole.rate, equalWidth);
    if (order === "open") return [];
    const kept = order === "below" ? shareRange(ratioInterval(rate, whole.rate)) : "all";
    return [`${kept} of its rate on ${counted(cell.blockSms!, "multiprocessor")}`];
  });
  return clauses.length === 0 ? null : `a kernel keeps ${listed(clauses)} at ${formatSize(smallest.bytes)}`;
}
