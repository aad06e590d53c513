import { copiesToPayOff } from "../../measure/cold-start.js";
import type { NativeError, NativeSession, PinningKind } from "../../native/contract.js";
import { formatSize, MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import type { Conclusion, Question, RunRequest, Tools } from "../question.js";
import {
  allOf,
  cellOf,
  differenceFigure,
  durationText,
  figureText,
  isAtLeast,
  type Known,
  medianFigure,
  timeFigure,
  verdictOf,
} from "../run-figures.js";

const request = {
  sizesBytes: [MiB, 16 * MiB, 64 * MiB],
  memory: ["pageable", "pinned"],
  directions: ["h2d"],
  workers: [1],
  budgetNs: 1e9,
} as const satisfies RunRequest;

/** More than the smallest number with an interval of the median. */
const repetitions = 8;

/**
 * For one size: the time of a copy, and the extra time of obtaining and freeing a pinned buffer instead of a pageable
 * one.
 */
interface PinningOfSize {
  sizeBytes: number;
  pageable: MeasuredFigure;
  pinned: MeasuredFigure;
  /** Extra cost by way, in nanoseconds; null if the way was refused. */
  cost: Record<"pinned" | "registered", MeasuredFigure | null>;
}

/** A smaller saving of a pinned copy cannot pay for anything. */
const leastSavingNs = 1;

/** The verdict on the claim, size by size. */
export function concludePaysOff(sizes: readonly PinningOfSize[]): Conclusion {
  const told = sizes.map((size) => tellSize(size));
  const known = told.map(({ paysOff }) => paysOff);
  return {
    verdict: verdictOf(allOf(...known)),
    figures: told.flatMap(({ figures }) => figures),
    sentences: [...told.flatMap(({ sentences }) => sentences), adviceFor(told)],
  };
}

interface ToldSize {
  paysOff: Known;
  /** Largest number of copies that the cheaper way takes; null if unknown. */
  copies: number | null;
  figures: MeasuredFigure[];
  sentences: string[];
}

const wayNames = { pinned: "cuMemHostAlloc", registered: "registering" } as const;

function tellSize({ sizeBytes, pageable, pinned, cost }: PinningOfSize): ToldSize {
  const size = formatSize(sizeBytes);
  const saving = differenceFigure(`${size}: a pinned copy saves`, pageable, pinned);
  const paysOff = isAtLeast(saving, leastSavingNs);
  const ways = (["pinned", "registered"] as const).flatMap((way) => {
    const beyond = cost[way];
    if (beyond === null) return [];
    const named = `${size}: ${wayNames[way]} pays off after copies`;
    return [
      { name: wayNames[way], beyond, copies: paysOff === true ? copiesOf(named, beyond, saving) : null },
    ];
  });
  const figures = [saving, ...ways.map(({ beyond }) => beyond)];
  if (ways.length === 0) {
    const sentences = [`${size}: the driver gave no pinned memory, so its cost is not known.`];
    return { paysOff: null, copies: null, figures, sentences };
  }
  if (paysOff !== true) {
    const why =
      paysOff === false
        ? "a pinned copy saves nothing that could pay for pinning"
        : "the intervals leave open whether a pinned copy saves time, so whether pinning pays off is open too";
    return { paysOff, copies: null, figures, sentences: [`${size}: ${why}.`] };
  }
  const copies = ways.map((way) => way.copies!);
  const told = ways.map((way) => `${way.name} ${costText(way.beyond, way.copies!)}`);
  return {
    paysOff,
    copies: Math.min(...copies.map(mostCopies)),
    figures: [...figures, ...copies],
    sentences: [
      `${size}: each copy saves ${figureText(saving)}. Compared with pageable memory, ${told.join("; ")}.`,
    ],
  };
}

/** Number of copies that save the cost of a way. */
function copiesOf(name: string, cost: MeasuredFigure, saving: MeasuredFigure): MeasuredFigure {
  const after = (ns: number, savedNs: number) => copiesToPayOff(ns, savedNs, 0);
  const interval = cost.interval &&
    saving.interval && {
      low: after(cost.interval.low, saving.interval.high),
      high: after(cost.interval.high, saving.interval.low),
    };
  return { name, value: after(cost.value, saving.value), unit: "count", interval, samples: 0 };
}

/** Uses the upper end of its interval. */
function mostCopies({ value, interval }: MeasuredFigure): number {
  return interval?.high ?? value;
}

/** "takes 417 µs more, which 1 copy pays for". */
function costText(cost: MeasuredFigure, copies: MeasuredFigure): string {
  const isMore = isAtLeast(cost, 0);
  if (isMore === false) return `takes ${durationText(-cost.value)} less`;
  const paid = (count: number) => `${copiesText(count)} ${count === 1 ? "pays" : "pay"} for`;
  return isMore === true
    ? `takes ${figureText(cost)} more, which ${paid(copies.value)}`
    : `may take longer or not, and at most ${paid(mostCopies(copies))} it`;
}

function copiesText(count: number): string {
  return count === 1 ? "1 copy" : `${count} copies`;
}

function adviceFor(told: readonly ToldSize[]): string {
  const copies = told.map((one) => one.copies).filter((one) => one !== null);
  if (copies.length === 0) return "Nothing here is a reason to pin a buffer.";
  const where = copies.length < told.length ? " (not known for every size)" : "";
  const most = Math.max(...copies);
  return most <= 1
    ? `In the cheaper way pinning pays at once${where}: even a buffer that is copied a single time.`
    : `In the cheaper way at most ${copiesText(most)} pay for it at each size${where}: pin buffers that are copied that often.`;
}

/** The number of copies after which pinning pays off. */
export const paysOff: Question = {
  name: "pays-off",
  title: "after how many copies does pinning pay off?",
  claim: "Pinning takes time, once; a buffer that is copied again and again earns it back.",
  needs: "device",
  mostMs: 15_000,
  async answer(tools) {
    const document = await tools.run(request);
    const costs = await tools.inSession((session) => measureCosts(session, tools));
    const sizes = request.sizesBytes.map((sizeBytes, i): PinningOfSize => {
      const time = (memory: "pageable" | "pinned") => {
        const name = `${formatSize(sizeBytes)}: a ${memory} copy`;
        return timeFigure(name, cellOf(document, { memory, sizeBytes }));
      };
      return {
        sizeBytes,
        pageable: time("pageable"),
        pinned: time("pinned"),
        cost: costs[i]!,
      };
    });
    return { ...concludePaysOff(sizes), command: tools.commandFor(request) };
  },
};

/** For each size, the extra time of pinning a buffer, measured in turns with obtaining a pageable one. */
async function measureCosts(
  session: NativeSession,
  { signal, onActivity }: Pick<Tools, "signal" | "onActivity">,
): Promise<PinningOfSize["cost"][]> {
  const costs: PinningOfSize["cost"][] = [];
  for (const sizeBytes of request.sizesBytes) {
    const size = formatSize(sizeBytes);
    onActivity(`obtaining ${size}`);
    const beyond = { pinned: [] as number[], registered: [] as number[] };
    for (let i = 0; i < repetitions; ++i) {
      const pageableNs = await costNs(session, "pageable", sizeBytes);
      for (const way of ["pinned", "registered"] as const) {
        signal.throwIfAborted();
        const ns = await costNs(session, way, sizeBytes);
        if (ns !== null && pageableNs !== null) beyond[way].push(ns - pageableNs);
      }
    }
    const costOf = (way: keyof typeof beyond) => {
      const name = `${size}: ${wayNames[way]}, beyond pageable memory`;
      return beyond[way].length < repetitions ? null : medianFigure(name, "ns", beyond[way]);
    };
    costs.push({ pinned: costOf("pinned"), registered: costOf("registered") });
  }
  return costs;
}

/** Time to obtain and free one buffer; null if it is refused. */
async function costNs(session: NativeSession, kind: PinningKind, sizeBytes: number): Promise<number | null> {
  const cost = await session.measurePinning(kind, sizeBytes).catch((error: NativeError) => {
    if (error.sticky || error.code === "ABORTED") throw error;
    return null;
  });
  return cost && cost.allocateNs + cost.freeNs;
}
