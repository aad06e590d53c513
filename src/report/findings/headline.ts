import { formatGBps, formatMicroseconds, formatRatio, formatShare } from "../../draw/numbers.js";
import { type Fact, type Note, note } from "../../draw/report.js";
import { capital, counted } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { orderOf } from "../../results/figure-interval.js";
import { isMeasured, statsOf, wholeOf } from "../../results/naming/cell-figure.js";
import { directionName } from "../../results/naming/wording.js";
import type { ColdStart, ResultDocument } from "../../results/schema.js";
import { variantOf } from "../../results/variant.js";
import { directions, type Memory } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { ascending } from "../../stats/order-statistics.js";
import { figuresOf, isEvidence, speedOf } from "./cell-speed.js";
import type { ComparedFinding } from "./comparisons.js";
import { type Finding, hintIfUndecided, sentenceOf } from "./finding.js";

const mostLines = 3;

/** The answer of a result: at most three lines, the most urgent first; never empty. */
export function headline(document: ResultDocument, findings: ResultFindings): Note[] {
  const main = mainCopies(document.cells.filter(isEvidence));
  const lines = [
    ...alarms(document),
    ...(main === null ? [] : [note(copiesLine(main, document))]),
    ...(findings.unstable === null ? [] : [note(sentenceOf(findings.unstable), "warning")]),
    ...[...findings.others, ...worstOfVariants(findings.compared)].map((one) => note(sentenceOf(one))),
    ...(main === null ? [] : payOffLine(main, document)),
  ].slice(0, mostLines);
  return lines.length > 0 ? lines : [note(noAnswerReason(document))];
}

interface ResultFindings {
  compared: readonly ComparedFinding[];
  /** Cut-offs of blocks and NUMA nodes. */
  others: readonly Finding[];
  /** Slow copies of memory kinds whose copies are normally steady. */
  unstable: Finding | null;
}

/** Of each variant, the finding with the largest gain or loss. */
function worstOfVariants(compared: readonly ComparedFinding[]): Finding[] {
  const kinds = new Set(compared.flatMap(({ variant }) => (variant === "plain" ? [] : [variant])));
  const distance = ({ ratio, verdict }: ComparedFinding) =>
    verdict === "undecided" ? -1 : Math.abs(Math.log(ratio.median));
  return [...kinds].map(
    (kind) =>
      compared.filter(({ variant }) => variant === kind).toSorted((a, b) => distance(b) - distance(a))[0]!,
  );
}

function alarms({ cells }: ResultDocument): Note[] {
  const countOf = (outcome: CellResult["outcome"]) => cells.filter((cell) => cell.outcome === outcome).length;
  const [wrong, failed] = [countOf("mismatch"), countOf("failed")];
  const all = counted(cells.length, "cell");
  return [
    ...(wrong === 0
      ? []
      : [note(`DATA CAME BACK WRONG in ${wrong} of ${all}. Do not use this machine.`, "mismatch")]),
    ...(failed === 0 ? [] : [note(`${failed} of ${all} failed: the notes say why.`, "failure")]),
  ];
}

const oneWay = ["h2d", "d2h"] as const;

interface DirectionCopies {
  direction: CellResult["direction"];
  pinned: CellResult | undefined;
  pageable: CellResult | undefined;
  fastest: CellResult;
}

interface MainCopies {
  device: number;
  sizeBytes: number;
  directions: DirectionCopies[];
}

/**
 * The copies that a result is mainly about: first device; rates before latencies; one direction before both; the
 * largest size (latency: the smallest); pinned and pageable memory if both were measured; fewest workers. Null without
 * plain copies.
 */
function mainCopies(cells: readonly CellResult[]): MainCopies | null {
  const preferring = (some: readonly CellResult[], isBetter: (cell: CellResult) => boolean) =>
    some.some(isBetter) ? some.filter(isBetter) : some;
  const plain = cells.filter((cell) => variantOf(cell) === "plain" && figuresOf(cell) !== null);
  const device = Math.min(...plain.map((cell) => cell.device));
  const preferred = [
    (cell: CellResult) => cell.device === device,
    (cell: CellResult) => cell.workerKind === "thread",
    (cell: CellResult) => cell.mode === "throughput",
    (cell: CellResult) => cell.cache === "cold",
    (cell: CellResult) => oneWay.some((one) => one === cell.direction),
  ].reduce(preferring, plain);
  const isLatency = preferred[0]?.mode === "latency";
  const found = ascending(preferred.map(({ sizeBytes }) => sizeBytes)).map((sizeBytes) => ({
    device,
    sizeBytes,
    directions: directionsOf(preferred.filter((cell) => cell.sizeBytes === sizeBytes)),
  }));
  if (!isLatency) found.reverse();
  return found.find(({ directions }) => directions.some(isPair)) ?? found[0] ?? null;
}

const isPair = ({ pinned, pageable }: DirectionCopies) => pinned !== undefined && pageable !== undefined;

function directionsOf(cells: readonly CellResult[]): DirectionCopies[] {
  return directions.flatMap((direction) => {
    const own = cells.filter((cell) => cell.direction === direction);
    const workers = Math.min(...own.map((cell) => cell.workers));
    const fewest = own.filter((cell) => cell.workers === workers);
    const [fastest] = fewest.toSorted((a, b) => speedIn(b) - speedIn(a));
    const of = (memory: Memory) => fewest.find((cell) => cell.memory === memory);
    return fastest === undefined
      ? []
      : [{ direction, pinned: of("pinned"), pageable: of("pageable"), fastest }];
  });
}

/** Speed of a cell with figures: GB/s, or copies per µs for latency. */
function speedIn(cell: CellResult): number {
  const { median } = figuresOf(cell)!;
  return cell.mode === "latency" ? 1 / median : median;
}

function figureOf(cell: CellResult): string {
  const { median } = figuresOf(cell)!;
  return cell.mode === "latency" ? formatMicroseconds(median) : formatGBps(median);
}

function unitOf({ mode }: CellResult): string {
  return mode === "latency" ? "µs" : "GB/s";
}

function median(cell: CellResult): string {
  return `${figureOf(cell)} ${unitOf(cell)}`;
}

const where: Readonly<Record<CellResult["direction"], string>> = {
  h2d: "to the GPU",
  d2h: "from the GPU",
  bidir: "both ways at once",
  d2d: "within the GPU",
  p2p: "between GPUs",
};

function prefixOf({ device }: MainCopies, { devices, backend }: ResultDocument): string {
  const name = [
    ...(backend === "emulated" ? ["emulated"] : []),
    "device",
    ...(devices.length > 1 ? [device] : []),
  ].join(" ");
  return name === "device" ? "" : `${name}: `;
}

function pairsOf({ directions }: MainCopies) {
  return directions.flatMap(({ direction, pinned, pageable }) => {
    const [one, other] = [pinned, pageable].map((cell) => cell && speedOf(cell));
    return one == null || other == null
      ? []
      : [
          {
            direction,
            pinned: pinned!,
            pageable: pageable!,
            order: orderOf(one, other),
            ratio: one.median / other.median,
          },
        ];
  });
}

function copiesLine(main: MainCopies, document: ResultDocument): string {
  const size = formatSize(main.sizeBytes);
  const pairs = pairsOf(main);
  const decided = pairs.filter(({ order }) => order !== "open");
  const prefix = prefixOf(main, document);
  if (decided.length > 0) {
    const clauses = decided.map(({ direction, pinned, pageable, ratio }, i) => {
      const [faster, rates] =
        i === 0 ? [" as fast as pageable", ` (${figureOf(pinned)} against ${median(pageable)})`] : ["", ""];
      return `${formatRatio(ratio)}${faster} ${where[direction]}${rates}`;
    });
    return capital(`${prefix}pinned memory is ${clauses.join(" and ")}, in copies of ${size}.`);
  }
  if (pairs.length > 0)
    return capital(
      `${prefix}undecided whether pinned memory is faster: too noisy. ${hintIfUndecided(document.run)}`,
    );
  const rates = main.directions.map(
    ({ direction, fastest }) => `${median(fastest)} ${where[direction]} (${fastest.memory})`,
  );
  return capital(`${prefix}${rates.join(" and ")}, in copies of ${size}.`);
}

function payOffLine(main: MainCopies, { coldStart }: ResultDocument): Note[] {
  const pairs = pairsOf(main);
  if (pairs.length > 0 && pairs.every(({ order }) => order === "open")) return [];
  const costs: ColdStart | undefined = coldStart.find((one) => one.device === main.device);
  const known = (costs?.pinning ?? [])
    .flatMap(({ sizeBytes, payOff }) => {
      const copies = oneWay.flatMap((direction) => {
        const ofWays = [payOff?.pinned[direction], payOff?.registered[direction]].filter(
          (count) => count != null,
        );
        return ofWays.length === 0 ? [] : [Math.min(...ofWays)];
      });
      return copies.length === 0 ? [] : [{ sizeBytes, copies: Math.max(...copies) }];
    })
    .sort((a, b) => a.sizeBytes - b.sizeBytes);
  if (known.length === 0) return [];
  const from = known[known.findLastIndex(({ copies }) => copies > 1) + 1];
  const most = Math.max(...known.map(({ copies }) => copies));
  const least = Math.min(...costs!.pinning.map(({ sizeBytes }) => sizeBytes));
  return [
    note(
      from === undefined
        ? `Pinning pays off after at most ${most} copies.`
        : `Pinning pays off at once for buffers of ${formatSize(from.sizeBytes)} and more${from.sizeBytes === least ? ", the smallest measured" : ""}.`,
    ),
  ];
}

function noAnswerReason({ run, cells }: ResultDocument): string {
  if (cells.some(isEvidence)) return "No two figures can be compared: the tables have them.";
  if (cells.some(isMeasured)) return "Nothing was copied to or from a device, only by the CPU.";
  return run.status === "complete"
    ? "Nothing was measured: the notes say why."
    : "No answer: the run ended before a cell was finished.";
}

export function mainFigures(document: ResultDocument): Fact[] {
  const first = mainCopies(document.cells.filter(isEvidence))?.directions.find(isPair);
  if (first?.pinned === undefined || first.pageable === undefined) return [];
  const { pinned, pageable, direction } = first;
  const share = statsOf(pinned, wholeOf(direction))?.linkShare ?? null;
  return [
    [`pinned ${where[direction]}`, median(pinned)],
    ["pageable", median(pageable)],
    ...(speedIn(pageable) === 0
      ? []
      : [["pinned over pageable", formatRatio(speedIn(pinned) / speedIn(pageable))] as const]),
    ...(share === null ? [] : [["of the link", formatShare(share)] as const]),
  ];
}

/** The main figures of a run in progress, for a line that cannot wrap; null without any. */
export function preliminaryFigures(document: ResultDocument): string | null {
  const main = mainCopies(document.cells.filter((cell) => isMeasured(cell) && cell.memory !== "host"));
  const pairs = main?.directions.filter(isPair) ?? [];
  if (main === null || pairs.length === 0) return null;
  const of = (memory: "pinned" | "pageable") => pairs.map((one) => figureOf(one[memory]!)).join("/");
  const names = pairs.map(({ direction }) => directionName[direction]).join("/");
  return `preliminary: ${formatSize(main.sizeBytes)} ${names}: pinned ${of("pinned")}, pageable ${of("pageable")} ${unitOf(pairs[0]!.fastest)}`;
}
