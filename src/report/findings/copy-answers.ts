import {
  formatGBps,
  formatRange,
  formatRatio,
  formatShare,
  roundUp,
  saysAnything,
} from "../../draw/numbers.js";
import type { Fact } from "../../draw/report.js";
import { counted, listed } from "../../draw/words.js";
import { type IntervalEstimate, ratioInterval } from "../../results/claimed-interval.js";
import { measuredStats } from "../../results/naming/cell-figure.js";
import type { CellResult, ColdStart, ResultDocument } from "../../results/schema.js";
import type { Memory, WorkerKind } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { relativeHalfWidth } from "../../stats/order-statistics.js";
import { payOffCopies } from "../tables/cold-start-report.js";
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

/** What plain copies say, in ordinary words and without a full stop. */
export interface CopyAnswer {
  text: string;
  /** The device that it speaks of. */
  device: number;
  /** The closing lines that say no more than it does. */
  covers: readonly Topic[];
}

/** The sentences on the plain copies of a result: what pinning gains, or how fast they are, and how much of the link that is. */
export function answersOnCopies(document: ResultDocument): CopyAnswer[] {
  const cells = comparableCells(document);
  const [first] = cells;
  if (first === undefined) return [];
  const kind: WorkerKind = cells.some(({ workerKind }) => workerKind === "thread") ? "thread" : "process";
  const terms: Terms = { document, cells, kind, device: first.device, width: equalWidth(document) };
  const rates = [...pinningGain(terms), ...linkShare(terms)];
  const ofRates = rates.length > 0 ? rates : plainRates(terms);
  return (ofRates.length > 0 ? ofRates : latencies(terms)).map((one) => ({ ...one, device: first.device }));
}

interface Terms {
  document: ResultDocument;
  cells: readonly CellResult[];
  kind: WorkerKind;
  device: number;
  /** Up to which relative half-width figures may count as equal. */
  width: number;
}

type Sentence = Omit<CopyAnswer, "device">;

const oneWay = ["h2d", "d2h"] as const;
type OneWay = (typeof oneWay)[number];

/** Where bytes go, in a sentence about one direction. */
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
  device: "device memory",
};

/** What one direction shows of pinned and pageable memory. */
interface DirectionPairs {
  direction: OneWay;
  pairs: readonly Pair[];
  /** Of the largest size of which something may be claimed; undefined where there is none. */
  main: Pair | undefined;
}

/** How much faster pinned memory is than pageable, at the largest size that tells, and when pinning has paid off. */
function pinningGain({ document, cells, kind, device, width }: Terms): Sentence[] {
  const ways = oneWay.flatMap((direction): DirectionPairs[] => {
    const pairs = pairUp(observe(cells, direction, "throughput", kind), "pinned", "pageable", width);
    const main = pairs.findLast(({ order }) => order !== "open");
    return pairs.length === 0 ? [] : [{ direction, pairs, main }];
  });
  if (ways.length === 0) return [];
  const covers = ways.every(({ pairs }) => pairs.length === 1) ? [pinnedAgainstPageable] : [];
  const told = ways.filter(({ main }) => main !== undefined);
  if (told.length === 0) {
    const sizes = [...new Set(ways.flatMap(({ pairs }) => sizesOf(pairs)))];
    const at = sizes.length === 1 ? ` in copies of ${formatSize(sizes[0]!)}` : "";
    const compared = cells.filter(
      ({ mode, memory }) => mode === "throughput" && (memory === "pinned" || memory === "pageable"),
    );
    const text = `whether pinned memory copies faster than ${ordinary}${at} cannot be told here: ${whyOpen(compared)}`;
    return [{ text, covers }];
  }
  const open = ways.filter(({ main }) => main === undefined).map(({ direction }) => way[direction]);
  const copies = told.map(({ main }) => copiesText(main!));
  const isSame = new Set(copies).size === 1;
  const clauses = told.map(
    ({ direction, main }, i) => gainClause(direction, main!, i > 0) + (isSame ? "" : ` (${copies[i]})`),
  );
  const text =
    `pinned memory copies ${clauses.join(", and ")}${isSame ? ` (${copies[0]})` : ""}` +
    (open.length === 0 ? "" : `; whether it is faster ${listed(open)} cannot be told`) +
    exceptions(told) +
    payOffText(
      document.coldStart.find((costs) => costs.device === device),
      ways,
    );
  return [{ text, covers }];
}

/** "4.6 to 5.9 times as fast as ordinary (pageable) memory to the device"; a later clause leaves out what it repeats. */
function gainClause(direction: OneWay, { order, ratio }: Pair, isLater: boolean): string {
  const than = (word: string) => (isLater ? "" : ` ${word} ${ordinary}`);
  const where = isLater && direction === "d2h" ? "back" : way[direction];
  switch (order) {
    case "above":
      return `${timesText(ratio)} as fast${than("as")} ${where}`;
    case "below":
      return `only at ${shareRange(ratio)} of ${isLater ? "its speed" : `the speed of ${ordinary}`} ${where}`;
    default:
      return `no faster${than("than")} ${where}`;
  }
}

/** An interval as wide as this, end over end, is given by its lower end alone. */
const widestRange = 3;

/** "4.6 to 5.9 times"; "at least 2.5 times" where the range is wide. */
function timesText({ low, high }: IntervalEstimate): string {
  const [least, most] = [formatRatio(low), formatRatio(high, roundUp)].map((text) => text.replace("×", ""));
  if (high > widestRange * low) return `at least ${least} times`;
  return least === most ? `${least} times` : `${least} to ${most} times`;
}

function copiesText({ sizeBytes, workers }: Pair): string {
  return `copies of ${formatSize(sizeBytes)}${workers === 1 ? "" : ` by ${counted(workers, "worker")} each`}`;
}

/** The sizes at which something else holds than at the one that the sentence is about, by what holds there. */
function exceptions(told: readonly DirectionPairs[]): string {
  const other = sizesWhere(told, ({ order }, main) => order !== "open" && order !== main.order);
  const open = sizesWhere(told, ({ order }) => order === "open");
  return (
    (other === "" ? "" : `; this is not so ${other}`) + (open === "" ? "" : `; ${open} it cannot be told`)
  );
}

/** "at 64 KiB and 1 MiB"; "at 64 KiB from the device" where both directions were told of and it is one of them. */
function sizesWhere(told: readonly DirectionPairs[], isMeant: (pair: Pair, main: Pair) => boolean): string {
  const meant = told.map(({ direction, pairs, main }) => {
    const sizes = sizesOf(pairs.filter((pair) => isMeant(pair, main!)));
    const at = sizes.length > mostSizes ? `${sizes.length} other sizes` : listed(sizes.map(formatSize));
    return { key: sizes.join(), at: sizes.length === 0 ? "" : `at ${at}`, where: way[direction] };
  });
  if (new Set(meant.map(({ key }) => key)).size === 1) return meant[0]!.at;
  return listed(meant.flatMap(({ at, where }) => (at === "" ? [] : [`${at} ${where}`])));
}

/** More sizes than this are counted. */
const mostSizes = 3;

/**
 * After how many copies of a buffer pinning it has paid off, of the cheaper way, in the slower of the directions in which
 * pinned memory is faster; counted by medians. Sizes of which that is not known are left out; a sentence that says so where it is of none.
 */
function payOffText(costs: ColdStart | undefined, ways: readonly DirectionPairs[]): string {
  const directions = ways.flatMap(({ direction, main }) => (main?.order === "above" ? [direction] : []));
  if (costs === undefined || costs.pinning.length === 0 || directions.length === 0) return "";
  // What goes the other way gains nothing.
  const goes = directions.length === ways.length ? "" : ` whose bytes go ${way[directions[0]!]}`;
  const pinning = `Pinning a buffer${goes}`;
  const known = costs.pinning
    .flatMap((record) => {
      const copies = directions.map((direction) => {
        const ofWays = (["pinned", "registered"] as const).flatMap(
          (one) => payOffCopies(record, one)?.[direction] ?? [],
        );
        return ofWays.length === 0 ? null : Math.min(...ofWays);
      });
      const isKnown = copies.every((one) => one !== null);
      return isKnown ? [{ sizeBytes: record.sizeBytes, copies: Math.max(...copies) }] : [];
    })
    .sort((a, b) => a.sizeBytes - b.sizeBytes);
  if (known.length === 0) return `. After how many copies p${pinning.slice(1)} has paid off cannot be told`;
  const counts = known.map(({ copies }) => copies);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (most <= 1) return `. ${pinning} pays off from its first copy on${limits(known, costs)}`;
  // From the smallest size from which on the first copy has paid for pinning.
  const from = known[known.findLastIndex(({ copies }) => copies > 1) + 1];
  const range = least === most ? counted(most, "copy", "copies") : `${least} to ${most} copies`;
  return from === undefined
    ? `. ${pinning} pays for itself after about ${range}${limits(known, costs)}`
    : `. ${pinning} pays off from the first copy of ${formatSize(from.sizeBytes)} on, and after about ${most} copies of a smaller one at most${limits(known, costs)}`;
}

/** A reservation if there are sizes of which it is not known. */
function limits(known: readonly unknown[], { pinning }: ColdStart): string {
  return known.length < pinning.length ? ", as far as that can be told" : "";
}

/** The main figures of plain copies: as a sentence without its full stop, and those of copies to the device one by one. */
interface MainRates {
  text: string;
  headline: Fact[];
}

/** The median rates with pinned and with pageable memory at the largest size that has both, by one worker; null without. */
export function mainRates(document: ResultDocument): MainRates | null {
  const cells = comparableCells(document).filter((cell) => cell.mode === "throughput" && cell.workers === 1);
  const statsOf = (memory: Memory, direction: OneWay, sizeBytes: number) => {
    const cell = cells.find(
      (one) => one.memory === memory && one.direction === direction && one.sizeBytes === sizeBytes,
    );
    return measuredStats(cell, direction);
  };
  const sizes = [...new Set(cells.map(({ sizeBytes }) => sizeBytes))].sort((a, b) => b - a);
  for (const size of sizes) {
    const [pinned, pageable] = (["pinned", "pageable"] as const).map((memory) =>
      oneWay.map((direction) => statsOf(memory, direction, size)),
    );
    const [to, back, slowTo, slowBack] = [...pinned!, ...pageable!].map(
      (stats) => stats?.bandwidthGBps.median ?? null,
    );
    if (to == null || slowTo == null) continue;
    const returned = back == null || slowBack == null ? ["", ""] : [back, slowBack].map(formatGBps);
    const [ofPinned, ofPageable] =
      returned[0] === "" ? ["", ""] : [`, ${returned[0]} back`, ` and ${returned[1]}`];
    const share = pinned?.[0]?.linkShare ?? null;
    return {
      text: `${formatSize(size)}: pinned ${formatGBps(to)} GB/s to the device${ofPinned}; pageable ${formatGBps(slowTo)}${ofPageable}`,
      headline: [
        ["pinned, to the device", `${formatGBps(to)} GB/s`],
        ["pageable", `${formatGBps(slowTo)} GB/s`],
        ...(slowTo === 0 ? [] : [["pinned over pageable", formatRatio(to / slowTo)] as const]),
        ...(share === null ? [] : [["of the link", formatShare(share)] as const]),
      ],
    };
  }
  return null;
}

/** How much of the link pinned copies fill, where they are compared with pageable ones. */
function linkShare({ document, cells, kind, device }: Terms): Sentence[] {
  const limitGBps = document.devices.find(({ ordinal }) => ordinal === device)?.linkLimitGBps ?? null;
  const parts = oneWay.flatMap((direction) => {
    const rates = observe(cells, direction, "throughput", kind);
    if (ofMemory(rates, "pageable").length === 0) return [];
    const best = fastest(telling(ofMemory(rates, "pinned")));
    return best === null || !isWithin(best.estimate, limitGBps) ? [] : [{ direction, best }];
  });
  if (limitGBps === null || parts.length === 0) return [];
  const shares = parts.map(({ best }) => shareRange(limited(best.estimate, limitGBps)));
  const [first, second] = shares;
  const clauses =
    second === undefined || first === second
      ? `${first} of what the link can carry ${parts.length === 1 ? way[parts[0]!.direction] : bothWays}`
      : `${first} of what the link can carry ${way.h2d}, and ${second} of that back`;
  return [{ text: `pinned memory reaches ${clauses}`, covers: [] }];
}

/** Whether a limit may be true: what is faster for certain shows that the machine misreports its link, as VMs do. */
function isWithin({ low }: IntervalEstimate, limitGBps: number | null): boolean {
  return limitGBps === null || low <= limitGBps;
}

/** No copy is faster than the link: an interval that says so reaches too far. */
function limited(rate: IntervalEstimate, limitGBps: number): IntervalEstimate {
  const exact = { median: limitGBps, low: limitGBps, high: limitGBps };
  const { median, low, high } = ratioInterval(rate, exact);
  return { median, low: Math.min(1, low), high: Math.min(1, high) };
}

/** Those whose intervals say anything of them. */
function telling(observations: readonly Observation[]): Observation[] {
  return observations.filter(({ estimate }) => saysAnything(relativeHalfWidth(estimate, estimate.median)));
}

/** How fast the fastest kind is, where pinned and pageable memory cannot be set against each other. */
function plainRates({ document, cells, kind, device }: Terms): Sentence[] {
  const limitGBps = document.devices.find(({ ordinal }) => ordinal === device)?.linkLimitGBps ?? null;
  const all = [...oneWay, "bidir", "d2d"] as const;
  const parts = all.flatMap((direction) => {
    const best = fastest(telling(observe(cells, direction, "throughput", kind)));
    return best === null ? [] : [{ direction, best }];
  });
  // What goes both ways, or stays within the device, is told where nothing goes one way.
  const ofOneWay = parts.filter(({ direction }) => direction === "h2d" || direction === "d2h");
  const [first, second] = (ofOneWay.length > 0 ? ofOneWay : parts.slice(0, 1)).map(({ direction, best }) => {
    const { memory, sizeBytes, workers, estimate } = best;
    const isOneWay = direction === "h2d" || direction === "d2h";
    const hasLimit = limitGBps !== null && isOneWay && isWithin(estimate, limitGBps);
    const share = hasLimit ? `, ${shareRange(limited(estimate, limitGBps))} of what the link can carry` : "";
    const where = ` (copies of ${formatSize(sizeBytes)}, ${counted(workers, "worker")})`;
    return { memory, direction, rate: `${formatRange(estimate)} GB/s`, share, where };
  });
  if (first === undefined) return [];
  const whole = ({ memory, direction, rate, share, where }: typeof first) =>
    `${memoryName[memory]} copies ${rate} ${way[direction]}${share}${where}`;
  if (second === undefined) return [{ text: whole(first), covers: [] }];
  if (first.memory !== second.memory) return [first, second].map((one) => ({ text: whole(one), covers: [] }));
  const where = first.where === second.where ? "" : first.where;
  const one = `${memoryName[first.memory]} copies ${first.rate} ${way.h2d}${first.share}${where}`;
  return [{ text: `${one}, and ${second.rate} back${second.share}${second.where}`, covers: [] }];
}

/** How long a small copy takes, at the smallest size. */
function latencies({ cells, kind, width }: Terms): Sentence[] {
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
    const time = `${formatRange(quickest.estimate)} µs`;
    const copy = `a copy of ${formatSize(sizeBytes)} ${way[direction]}`;
    return [{ text: `${copy} takes ${time} with ${memoryName[quickest.memory]}`, covers }];
  });
}

/** Of at least one. */
function quickestOf(observed: readonly Observation[]): Observation {
  return observed.toSorted((a, b) => a.estimate.median - b.estimate.median)[0]!;
}

function openLatency({ sizeBytes }: Pair, where: string): string {
  return `whether a copy of ${formatSize(sizeBytes)} takes longer with ${ordinary} than with pinned memory, ${where}, cannot be told here: the times vary too much`;
}

function latencyText(pair: Pair, where: string): string {
  const { order, one, other, sizeBytes } = pair;
  if (order === "open") return openLatency(pair, where);
  const copy = `a copy of ${formatSize(sizeBytes)} ${where}`;
  const [pinned, pageable] = [one, other].map((time) => `${formatRange(time)} µs`);
  return order === "equal"
    ? `${copy} takes as long with pinned memory as with ${ordinary}: ${pinned}`
    : `${copy} takes ${pinned} with pinned memory and ${pageable} with ${ordinary}`;
}
