import { formatGBps, formatRange } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import { counted, listed } from "../../draw/words.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import { type IntervalEstimate, ratioInterval } from "../../results/claimed-interval.js";
import { statsOf, wholeOf } from "../../results/naming/cell-figure.js";
import { besideName } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { aloneIn, variantOf } from "../../results/variant.js";
import { besides, type DirectionMoved, memories, peerPaths } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { namedDevices, sharingSentence } from "../shared-topology.js";
import { blockFindings, cutoffFindings } from "./block-findings.js";
import { blocksBesideLoads } from "./blocks-beside-findings.js";
import {
  claimOf,
  compareIntervals,
  type IntervalOrder,
  isEvidence,
  isNarrow,
  ofFirstDevice,
  ofOneCache,
  rateOf,
} from "./finding-evidence.js";
import {
  byDirection,
  firstOf,
  joinDirections,
  type QuestionFindings,
  ratioRange,
  shareRange,
  type Terms,
  type VariantFinding,
} from "./finding-topics.js";

/*
 * The closing lines on variants. Like those on plain cells, they claim what other processes also find.
 */

/** The most important line on each question about variants. */
export function mainVariantFindings(document: ResultDocument, equalWidth: number): VariantFinding[] {
  return questionsOf(document, equalWidth).flatMap(({ main }) => main ?? []);
}

/** The lines on the requested variants, one or more for each question. */
export function variantFindings(document: ResultDocument, equalWidth: number): VariantFinding[] {
  return questionsOf(document, equalWidth).flatMap(({ lines }) => lines);
}

function questionsOf(document: ResultDocument, equalWidth: number): QuestionFindings[] {
  const measured = document.cells.filter(isEvidence);
  const evidence = measured.filter(({ mode }) => mode === "throughput");
  const of = (variant: ReturnType<typeof variantOf>) =>
    ofOneCache(evidence.filter((cell) => variantOf(cell) === variant));
  const terms: Terms = { document, equalWidth, aloneOf: aloneIn(evidence) };
  const betweenThem = measured.filter(({ direction, mode }) => direction === "p2p" && mode === "latency");
  const besideLoads = copiesBesideLoads(ofFirstDevice(of("beside")), terms);
  const [worst] = besideLoads.toSorted((a, b) => a.leastKept - b.leastKept);
  return [
    firstOf(devicesAtOnce(of("together"), terms)),
    { lines: besideLoads, main: worst },
    firstOf(overlap(ofFirstDevice(of("pipeline")), terms)),
    firstOf(
      document.blockCutoffs == null
        ? blockFindings(ofFirstDevice(of("blocks")), terms)
        : cutoffFindings(document),
    ),
    firstOf(blocksBesideLoads(ofFirstDevice(of("blocks-beside")), terms)),
    firstOf([...betweenDevices(of("p2p"), terms), ...latencyBetweenDevices(ofOneCache(betweenThem))]),
  ];
}

/** The share of its own rate that a cell keeps. */
interface Kept {
  cell: CellResult;
  share: IntervalEstimate;
  order: IntervalOrder;
}

function keptOf(
  cell: CellResult,
  moved: CellStats["direction"],
  { aloneOf, equalWidth }: Terms,
): Kept | null {
  const [rate, alone] = [cell, aloneOf(cell)].map((one) => (one === undefined ? null : rateOf(one, moved)));
  if (rate == null || alone == null) return null;
  return { cell, share: ratioInterval(rate, alone), order: compareIntervals(rate, alone, equalWidth) };
}

/** The range of their shares: "91 % to 93 %". */
function spanOf(kept: readonly Kept[]): string {
  const shares = kept.map(({ share }) => share);
  return shareRange({
    median: shares[0]!.median,
    low: Math.min(...shares.map(({ low }) => low)),
    high: Math.max(...shares.map(({ high }) => high)),
  });
}

/** The devices that lose most when all copy at once, and a separate line on what they share with the others. */
function devicesAtOnce(cells: readonly CellResult[], terms: Terms): VariantFinding[] {
  const sufferers = new Set<number>();
  const clauseOf = (direction: CellResult["direction"], moved: DirectionMoved): string | null => {
    const party = partyOf(cells.filter((cell) => cell.direction === direction));
    if (party === null) return null;
    const kept = party.flatMap((cell) => keptOf(cell, moved, terms) ?? []);
    if (kept.length < party.length) return null;
    const worst = worstOf(kept);
    for (const { cell } of worst) sufferers.add(cell.device);
    return clauseOfParty(kept, worst);
  };
  const lines = [
    joinDirections(clauseOf("h2d", "h2d"), clauseOf("d2h", "d2h")),
    joinDirections(clauseOf("bidir", "h2d"), clauseOf("bidir", "d2h")),
  ].filter((line) => line !== null);
  const { devices, host } = terms.document;
  const all = devices.filter(({ ordinal }) => cells.some((cell) => cell.device === ordinal));
  const some = all.filter(({ ordinal }) => sufferers.has(ordinal));
  const shared =
    some.length === 0
      ? []
      : [{ text: sharingSentence(some, all, host?.virtualization ?? null), cells: null }];
  return [...lines.map((text) => ({ text, cells: [] })), ...shared];
}

/**
 * The cells of one measurement on all devices: preferably of pinned memory, of the largest size, of threads, and the
 * fastest of these.
 */
function partyOf(cells: readonly CellResult[]): CellResult[] | null {
  const parties = [
    ...groupBy(cells, ({ together, memory, sizeBytes, workers, workerKind }) =>
      [together, memory, sizeBytes, workers, workerKind].join("/"),
    ).values(),
  ].filter((party) => party.length === party[0]!.together?.length);
  const isPinned = ([first]: readonly CellResult[]) => Number(first!.memory === "pinned");
  const isOfThreads = ([first]: readonly CellResult[]) => Number(first!.workerKind === "thread");
  const rate = (party: readonly CellResult[]) =>
    party.reduce((sum, cell) => sum + (rateOf(cell)?.median ?? 0), 0);
  const [best] = parties.sort(
    (a, b) =>
      b.length - a.length ||
      isPinned(b) - isPinned(a) ||
      b[0]!.sizeBytes - a[0]!.sizeBytes ||
      isOfThreads(b) - isOfThreads(a) ||
      rate(b) - rate(a),
  );
  return best ?? null;
}

/** The cells with the lowest rate, and those not significantly different from the lowest. */
function worstOf(kept: readonly Kept[]): Kept[] {
  const losers = kept.filter(({ order }) => order === "below");
  const limit = losers.toSorted((a, b) => a.share.median - b.share.median)[0]?.share.high;
  return limit === undefined ? [] : losers.filter(({ share }) => share.low <= limit);
}

function clauseOfParty(kept: readonly Kept[], worst: readonly Kept[]): string {
  const ordinalsOf = (some: readonly Kept[]) => some.map(({ cell }) => cell.device);
  const all = namedDevices(ordinalsOf(kept));
  const { direction, memory, sizeBytes, workers, workerKind } = kept[0]!.cell;
  const copiers =
    workerKind === "process" ? counted(workers, "process", "processes") : counted(workers, "worker");
  const ways = direction === "bidir" ? " both ways" : "";
  const where = `when ${all} copy${ways} at once (${memory}, ${formatSize(sizeBytes)}, ${copiers})`;
  if (worst.length === 0) {
    return kept.some(({ order }) => order === "open")
      ? `these intervals do not show what is lost ${where}`
      : `no device loses anything ${where}`;
  }
  if (worst.length === kept.length) return `each device keeps ${spanOf(worst)} of its rate alone ${where}`;
  const others = kept.filter((one) => one.order === "below" && !worst.includes(one));
  const rest = others.length === 0 ? "" : ` and ${namedDevices(ordinalsOf(others))} ${spanOf(others)}`;
  const keep = worst.length === 1 ? "keeps" : "keep";
  return `${namedDevices(ordinalsOf(worst))} ${keep} ${spanOf(worst)}${rest} of the rate alone ${where}`;
}

/** A line on a load, and the lowest share of its rate that a copy kept during it. */
interface LoadFinding extends VariantFinding {
  leastKept: number;
}

/** The loss of each kind of memory during each load, and the loss of the load. */
function copiesBesideLoads(cells: readonly CellResult[], terms: Terms): LoadFinding[] {
  return besides.flatMap((beside) => {
    if (beside === "none") return [];
    const ofLoad = cells.filter((cell) => cell.beside === beside);
    const sizeBytes = Math.max(...ofLoad.map((cell) => cell.sizeBytes));
    const ofSize = ofLoad.filter((cell) => cell.sizeBytes === sizeBytes);
    const workers = Math.min(...ofSize.map((cell) => cell.workers));
    const compared = ofSize.filter((cell) => cell.workers === workers);
    const where = `${formatSize(sizeBytes)}, ${counted(workers, "worker")}`;
    const losses: number[] = [];
    return byDirection((direction) => {
      const ofDirection = compared.filter((cell) => cell.direction === direction);
      const kept = ofDirection.flatMap((cell) => keptOf(cell, wholeOf(cell.direction), terms) ?? []);
      losses.push(...kept.filter(({ order }) => order === "below").map(({ share }) => share.median));
      return kept.length === 0 ? null : `${whatCopiesKeep(kept)}${whatLoadsKeep(ofDirection, terms)}`;
    }).map((line) => ({
      text: `beside ${besideName[beside]} (${where}), ${line}`,
      cells: ofLoad,
      leastKept: Math.min(1, ...losses),
    }));
  });
}

function whatCopiesKeep(kept: readonly Kept[]): string {
  const losers = kept
    .filter(({ order }) => order === "below")
    .sort((a, b) => a.share.median - b.share.median)
    .map((one, i) => {
      const { memory } = one.cell;
      return i === 0 ? `${memory} keeps ${spanOf([one])} of its rate` : `${memory} ${spanOf([one])}`;
    });
  const unharmed = kept.filter(({ order }) => order === "equal" || order === "above");
  const clauses = [
    ...losers,
    ...(unharmed.length === 0
      ? []
      : [`${listed(memoriesOf(unharmed))} ${unharmed.length === 1 ? "loses" : "lose"} nothing`]),
  ];
  const open = kept.filter(({ order }) => order === "open");
  const rest = open.length === 0 ? "" : `; for ${listed(memoriesOf(open))} this is not certain`;
  return clauses.length > 0
    ? listed(clauses) + rest
    : `these intervals do not show what ${listed(memoriesOf(kept))} ${kept.length === 1 ? "loses" : "lose"}`;
}

function memoriesOf(kept: readonly Kept[]): string[] {
  return memories.filter((memory) => kept.some(({ cell }) => cell.memory === memory));
}

/** Empty if nothing can be claimed. */
function whatLoadsKeep(cells: readonly CellResult[], { equalWidth }: Terms): string {
  const shares = cells.flatMap((cell) => {
    const share = cell.load == null ? null : claimOf(cell, cell.load.keptShare);
    return share === null ? [] : [{ memory: cell.memory, share }];
  });
  const losses = shares
    .filter(({ share }) => share.high < 1)
    .sort((a, b) => a.share.median - b.share.median)
    .map(({ memory, share }) => `${shareRange(share)} beside ${memory}`);
  if (losses.length > 0) return `; the load keeps ${listed(losses)}`;
  const areNarrow = shares.every(({ share }) => isNarrow(share, equalWidth));
  return shares.length > 0 && areNarrow ? "; the load loses nothing" : "";
}

/** The gain from copying a batch in chunks while kernels work on earlier ones, by kind of memory. */
function overlap(cells: readonly CellResult[], { equalWidth }: Terms): VariantFinding[] {
  const sizeBytes = Math.max(...cells.map((cell) => cell.sizeBytes));
  const gains: string[] = [];
  const [none, slower, open]: [string[], string[], string[]] = [[], [], []];
  for (const memory of memories) {
    const rates = cells.flatMap((cell) => {
      const rate = cell.memory === memory && cell.sizeBytes === sizeBytes ? rateOf(cell) : null;
      return rate === null || cell.chunks === undefined ? [] : [{ chunks: cell.chunks, rate }];
    });
    const whole = rates.find(({ chunks }) => chunks === 1)?.rate;
    const parts = rates.filter(({ chunks }) => chunks > 1);
    const [fastest] = parts.toSorted((a, b) => b.rate.median - a.rate.median);
    if (whole === undefined || fastest === undefined) continue;
    const order = compareIntervals(fastest.rate, whole, equalWidth);
    if (order === "above") {
      const gain = ratioRange([ratioInterval(fastest.rate, whole)]);
      gains.push(`${gain} with ${memory} memory (${counted(fastest.chunks, "chunk")})`);
    } else ({ equal: none, below: slower, open })[order].push(memory);
  }
  const clauses = [...gains, ...(none.length === 0 ? [] : [`nothing with ${listed(none)} memory`])];
  const said = [
    ...(clauses.length === 0 ? [] : [`gain ${listed(clauses)}`]),
    ...(slower.length === 0 ? [] : [`take longer than in one piece with ${listed(slower)} memory`]),
  ].join(", and ");
  if (said === "" && open.length === 0) return [];
  const what = `copies of ${formatSize(sizeBytes)} that overlap with kernels (non_blocking)`;
  const text =
    said === ""
      ? `these intervals do not show what ${what} gain with ${listed(open)} memory`
      : `${what} ${said}${open.length === 0 ? "" : `; for ${listed(open)} memory this is not certain`}`;
  return [{ text, cells }];
}

/** Whether devices access each other's memory, how fast, and which pair is slowest. */
function betweenDevices(cells: readonly CellResult[], { document, equalWidth }: Terms): VariantFinding[] {
  const sizeBytes = Math.max(...cells.map((cell) => cell.sizeBytes));
  const ofSize = cells.filter((cell) => cell.sizeBytes === sizeBytes);
  const workers = Math.min(...ofSize.map((cell) => cell.workers));
  const measured = ofSize.filter((cell) => cell.workers === workers);
  const pairOf = ({ device, peer }: CellResult) => `${device} to ${peer}`;
  const path = peerPaths.find((one) => measured.some((cell) => cell.path === one));
  if (path === undefined) return [];
  const rates = measured.flatMap((cell) => {
    const rate = cell.path === path ? rateOf(cell) : null;
    return rate === null ? [] : [{ cell, rate }];
  });
  const [slowest, ...faster] = rates.sort((a, b) => a.rate.median - b.rate.median);
  if (slowest === undefined) return [];
  const fastest = faster.at(-1) ?? slowest;
  const isThroughHost = path === "through-host";
  const reached = new Set(measured.filter((cell) => cell.path !== "through-host").map(pairOf));
  const refused = document.cells.filter(
    (cell) => (cell.path === "write" || cell.path === "read") && cell.outcome === "skipped",
  );
  const unreached = [...new Set(refused.map(pairOf))].filter((pair) => !reached.has(pair));
  const direct = "devices reach each other's memory directly";
  const access = isThroughHost
    ? unreached.length === 0
      ? "copies between devices were measured through the host"
      : "devices do not reach each other's memory: copies between them go through the host"
    : unreached.length === 0
      ? direct
      : `${direct}, but not ${listed(unreached)}`;
  const slowestRate = `${pairOf(slowest.cell)} with ${formatGBps(slowest.rate.median)} GB/s`;
  const order = compareIntervals(slowest.rate, fastest.rate, equalWidth);
  const speed =
    faster.length === 0
      ? slowestRate
      : order === "below"
        ? `slowest is ${slowestRate}, ${shareRange(ratioInterval(slowest.rate, fastest.rate))} of ${pairOf(fastest.cell)}`
        : order === "equal"
          ? `all pairs are alike, at least ${formatGBps(slowest.rate.median)} GB/s`
          : "these intervals do not show which pair is slowest";
  const gains = rates.flatMap(({ cell, rate }) => {
    const other = measured.find((one) => one.path === "through-host" && pairOf(one) === pairOf(cell));
    const throughHost = isThroughHost || other === undefined ? null : rateOf(other);
    return throughHost === null ? [] : [ratioInterval(rate, throughHost)];
  });
  const isGain = gains.length > 0 && gains.every(({ low }) => low > 1);
  const gain = !isGain ? "" : `, ${ratioRange(gains)} what goes through the host`;
  const where = `${path}, ${formatSize(sizeBytes)}, ${counted(workers, "worker")}`;
  return [{ text: `${access}${gain}; ${speed} (${where})`, cells: [] }];
}

/** The time of the smallest copy over the most direct path: from the quickest pair to the slowest. */
function latencyBetweenDevices(cells: readonly CellResult[]): VariantFinding[] {
  const sizeBytes = Math.min(...cells.map((cell) => cell.sizeBytes));
  const ofSize = cells.filter((cell) => cell.sizeBytes === sizeBytes);
  const workers = Math.min(...ofSize.map((cell) => cell.workers));
  const measured = ofSize.filter((cell) => cell.workers === workers);
  const path = peerPaths.find((one) => measured.some((cell) => cell.path === one));
  const latencies = measured.flatMap((cell) => {
    const latencyUs = cell.path === path ? statsOf(cell, "p2p")?.latencyUs : null;
    return (latencyUs && claimOf(cell, latencyUs)) ?? [];
  });
  if (latencies.length === 0) return [];
  const range = formatRange({
    low: Math.min(...latencies.map(({ low }) => low)),
    high: Math.max(...latencies.map(({ high }) => high)),
  });
  const where = `${path}, ${counted(workers, "worker")}`;
  return [
    { text: `a copy of ${formatSize(sizeBytes)} between devices takes ${range} µs (${where})`, cells: [] },
  ];
}
