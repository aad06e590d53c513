import { formatRatio, formatWholeShare, roundUp } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { type IntervalEstimate, ratioInterval } from "../../results/claimed-interval.js";
import type { BlockCutoffs } from "../../results/cutoffs/cutoff-schema.js";
import { wayName } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import type { Memory } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { ascending } from "../../stats/order-statistics.js";
import { blockRateOf, compareIntervals } from "./finding-evidence.js";
import {
  byDirection,
  joinDirections,
  ratioRange,
  type Terms,
  type VariantFinding,
} from "./finding-topics.js";

/*
 * The closing lines on copies in scattered blocks: the block size from which a plain loop of copies is enough, and the
 * best way below that.
 */

/**
 * A loop that reaches this share of the fastest way is enough: it is the simplest way, and most programs would not
 * notice the gain of others. Near the link's limit, at about 1 MiB, loops reach 88 to 90 %: with a limit of 90 %, the
 * answer would change from process to process.
 */
const enoughShare = 0.8;

/** The lines of each kind of memory in turn; the first of each says from which size on a loop is enough. */
export function blockFindings(cells: readonly CellResult[], terms: Terms): VariantFinding[] {
  const workers = Math.min(...cells.map((cell) => cell.workers));
  const ofWorkers = cells.filter((cell) => cell.workers === workers);
  const by = workers === 1 ? "" : `, by ${counted(workers, "worker")}`;
  const kinds = (["pinned", "pageable"] as const).map((memory) => {
    const lines = (clauseOf: (blocks: readonly RatedBlocks[]) => string | null) =>
      byDirection((direction) => clauseOf(blocksOf(ofWorkers, direction, memory, terms))).map((text) => ({
        text: `in scattered blocks of ${memory} memory${by}, ${text}`,
        cells: ofWorkers,
      }));
    return [...lines(whereLoopIsEnough), ...lines((blocks) => fastestOfSmallest(blocks, terms))];
  });
  return kinds.flat();
}

interface RatedBlocks {
  bytes: number;
  rates: RatedCell[];
}

interface RatedCell {
  cell: CellResult;
  rate: IntervalEstimate;
}

/** The blocks of one direction and kind of memory, ascending; of several counts those with the most bytes per copy. */
function blocksOf(
  cells: readonly CellResult[],
  direction: CellResult["direction"],
  memory: Memory,
  terms: Terms,
): RatedBlocks[] {
  const own = cells.filter((cell) => cell.direction === direction && cell.memory === memory);
  const sizes = ascending(own.flatMap(({ blockBytes }) => blockBytes ?? []));
  return sizes.map((bytes) => {
    const ofBlock = own.filter(({ blockBytes }) => blockBytes === bytes);
    const sizeBytes = Math.max(...ofBlock.map((cell) => cell.sizeBytes));
    const rates = ofBlock.flatMap((cell): RatedCell[] => {
      const rate = cell.sizeBytes === sizeBytes ? blockRateOf(cell, terms.aloneOf(cell)) : null;
      return rate === null ? [] : [{ cell, rate }];
    });
    return { bytes, rates };
  });
}

/**
 * Whether a loop is enough, and the range of its share of the fastest other way's rate; null without a loop, or without
 * another way.
 */
function isLoopEnough({ bytes, rates }: RatedBlocks): LoopFound | null {
  const loop = rates.find(({ cell }) => cell.blockWay === "loop");
  const others = rates.filter((one) => one !== loop);
  if (loop === undefined || others.length === 0) return null;
  const shares = others.map(({ rate }) => ratioInterval(loop.rate, rate));
  const leastShare = Math.min(...shares.map(({ low }) => low));
  const mostShare = Math.min(...shares.map(({ high }) => high));
  const enough = leastShare >= enoughShare ? "yes" : mostShare < enoughShare ? "no" : "open";
  return { size: formatSize(bytes), enough, leastShare, mostShare };
}

interface LoopFound {
  size: string;
  enough: "yes" | "no" | "open";
  leastShare: number;
  mostShare: number;
}

function whereLoopIsEnough(blocks: readonly RatedBlocks[]): string | null {
  const told = blocks.flatMap((one) => isLoopEnough(one) ?? []);
  const last = told.at(-1);
  if (last === undefined) return null;
  const lastNot = told.findLastIndex(({ enough }) => enough !== "yes");
  const enoughFor = told.slice(lastNot + 1);
  const [first] = enoughFor;
  if (first === undefined) {
    const lastNo = told.findLastIndex(({ enough }) => enough === "no");
    const isNoBelow = told.slice(0, lastNo + 1).every(({ enough }) => enough === "no");
    const whereNot = `${isNoBelow && lastNo > 0 ? "up to" : "at"} ${told[lastNo]?.size}`;
    if (last.enough === "no") {
      const mostShare = Math.max(...told.slice(isNoBelow ? 0 : lastNo).map((one) => one.mostShare));
      const most = formatWholeShare(mostShare, roundUp);
      return `a loop of copies is not enough ${whereNot}, where it reaches at most ${most} of the fastest other way's rate`;
    }
    const firstOpen = told.findLastIndex(({ enough }) => enough !== "open") + 1;
    const open =
      firstOpen === told.length - 1 ? `at ${last.size}` : `from ${told[firstOpen]!.size} to ${last.size}`;
    const [known, it] =
      lastNo < 0 ? ["", "a loop of copies"] : [`a loop of copies is not enough ${whereNot}; `, "it"];
    return `${known}these intervals do not show whether ${it} is enough ${open}`;
  }
  const atLatest = told[lastNot]?.enough === "open" ? " at the latest" : "";
  const leastShare = Math.min(...enoughFor.map((one) => one.leastShare));
  const reaches =
    leastShare >= 1
      ? "where no other way is faster"
      : `where it reaches at least ${formatWholeShare(leastShare)} of the fastest other way's rate`;
  return `a loop of copies is enough from ${first.size} on${atLatest}, ${reaches}`;
}

/** The fastest way for the smallest blocks, its gain, and its CPU time. */
function fastestOfSmallest(blocks: readonly RatedBlocks[], { equalWidth }: Terms): string | null {
  const [smallest] = blocks;
  const ways = smallest?.rates.toSorted((a, b) => b.rate.median - a.rate.median) ?? [];
  const [best, ...others] = ways;
  const loop = ways.find(({ cell }) => cell.blockWay === "loop");
  if (smallest === undefined || best === undefined || loop === undefined || others.length === 0) return null;
  const size = formatSize(smallest.bytes);
  const order = (one: RatedCell) => compareIntervals(best.rate, one.rate, equalWidth);
  if (order(loop) !== "above") return `no way is faster than a loop for certain at ${size}`;
  const fastest = [best, ...others.filter((one) => order(one) !== "above")];
  const names = fastest.map(({ cell }) => wayName[cell.blockWay!]).join(" or ");
  const ratios = fastest.map(({ rate }) => ratioInterval(rate, loop.rate));
  const least = Math.min(...ratios.map(({ low }) => low));
  const most = Math.max(...ratios.map(({ high }) => high));
  // If several ways are tied, one of them may not differ from a loop: then only the fastest one's gain is given.
  const gain =
    most <= widestRange * least
      ? ratioRange(ratios)
      : `at least ${formatRatio(ratioInterval(best.rate, loop.rate).low)}`;
  const host = fastest.length === 1 ? shareOfCpu(best.cell, loop.cell) : "";
  return `${names} is fastest at ${size}, ${gain} a loop${host}`;
}

/** A range with a larger ratio of its ends says little about the values in between. */
const widestRange = 10;

/** In round figures, which other processes also find; the tables have more digits. */
function shareOfCpu(best: CellResult, loop: CellResult): string {
  const [bestNs, loopNs] = [best, loop].map(({ hostNsPerBlock }) => hostNsPerBlock?.median);
  if (bestNs === undefined || loopNs === undefined || loopNs <= 0) return "";
  const percent = (bestNs / loopNs) * 100;
  if (percent >= 95) return ", without saving CPU time";
  const share = percent < 1 ? "less than 1 %" : `about ${Number(percent.toPrecision(1))} %`;
  return `, for ${share} of the CPU time that a loop takes`;
}

/** The block sizes at which the best way changes, from `--blocks auto`: one line for each kind of memory. */
export function cutoffFindings({ blockCutoffs, cells }: ResultDocument): VariantFinding[] {
  const columns = blockCutoffs ?? [];
  const [first] = columns;
  if (first === undefined) return [];
  const own = columns.filter(({ device, workers }) => device === first.device && workers === first.workers);
  const memories = [...new Set(own.map(({ memory }) => memory))];
  return memories.flatMap((memory) => {
    const clauseOf = (direction: "h2d" | "d2h") =>
      clause(own.filter((column) => column.memory === memory && column.direction === direction));
    const text = joinDirections(clauseOf("h2d"), clauseOf("d2h"));
    const ofDevice = cells.filter((cell) => cell.device === first.device);
    return text === null
      ? []
      : [{ text: `in scattered blocks of ${memory} memory, ${text}`, cells: ofDevice }];
  });
}

/** For the copies with the most blocks that have a cut-off: what servers move at once. */
function clause(columns: readonly BlockCutoffs[]): string | null {
  if (columns.length === 0) return null;
  const column = columns.findLast(({ cutoffs }) => cutoffs.length > 0);
  if (column !== undefined) {
    const { leastBytes, mostBytes, below, above } = column.cutoffs[0]!;
    const sizes = `up to ${formatSize(leastBytes)} and ${wayName[above]} from ${formatSize(mostBytes)} on`;
    return `${wayName[below]} is fastest ${sizes} (${counted(column.blockCount, "block")})`;
  }
  const sizes = columns.flatMap((one) => one.sizes);
  const [way, ...others] = new Set(sizes.map(({ fastest }) => fastest));
  if (way !== undefined && others.length === 0 && sizes.every(({ isCertain }) => isCertain)) {
    return `${wayName[way]} is fastest at every size`;
  }
  return "these intervals show no block size at which the best way changes";
}
