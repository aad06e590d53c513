import { copiesToPayOff } from "../../measure/cold-start.js";
import type { PinningCost, ResultDocument } from "../../results/schema.js";
import { formatSize, MiB } from "../../settings/units.js";
import type { MeasuredFigure } from "../explanation.js";
import { durationText, figureText } from "../figure-text.js";
import type { Conclusion, Question, RunRequest } from "../question.js";
import {
  allOf,
  cellOf,
  differenceFigure,
  isAtLeast,
  type Known,
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

/** Of one size: what a copy takes, and what obtaining and giving back a pinned buffer takes beyond a pageable one. */
export interface PinningOfSize {
  sizeBytes: number;
  pageable: MeasuredFigure;
  pinned: MeasuredFigure;
  /** Extra cost by way, in nanoseconds and of few samples; null where the way was refused. */
  costNs: { pinned: number | null; registered: number | null };
  /** Samples that each cost is the median of. */
  repetitions: number;
}

/** A pinned copy must save at least this to pay for anything. */
const leastSavingNs = 1;

/** What the figures make of the claim, size by size. */
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
  /** The most copies that it takes; null where that is not known. */
  copies: number | null;
  figures: MeasuredFigure[];
  sentences: string[];
}

function tellSize({ sizeBytes, pageable, pinned, costNs, repetitions }: PinningOfSize): ToldSize {
  const size = formatSize(sizeBytes);
  const saving = differenceFigure(`${size}: a pinned copy saves`, pageable, pinned);
  const costFigures = (["pinned", "registered"] as const).flatMap((way): MeasuredFigure[] => {
    const ns = costNs[way];
    const name = `${size}: ${way === "pinned" ? "cuMemHostAlloc" : "registering"} costs more than malloc`;
    return ns === null ? [] : [{ name, value: ns, unit: "ns", interval: null, samples: repetitions }];
  });
  const paysOff = isAtLeast(saving, leastSavingNs);
  const cost = costNs.pinned;
  const figures = [saving, ...costFigures];
  if (cost === null) {
    return {
      ...{ paysOff: null, copies: null, figures },
      sentences: [`${size}: the driver gave no pinned memory, so that nothing can be told of its cost.`],
    };
  }
  if (paysOff !== true) {
    const why =
      paysOff === false
        ? "a pinned copy saves nothing"
        : "the intervals do not tell whether a pinned copy saves time";
    return {
      paysOff,
      copies: null,
      figures,
      sentences: [`${size}: ${why}, so that pinning does not pay off.`],
    };
  }
  const after = (savedNs: number) => copiesToPayOff(cost, savedNs, 0);
  const copies: MeasuredFigure = {
    name: `${size}: copies until pinning has paid off`,
    value: after(saving.value),
    unit: "count",
    interval: { low: after(saving.interval!.high), high: after(saving.interval!.low) },
    samples: 0,
  };
  const { registered } = costNs;
  const other = registered === null ? null : copiesToPayOff(registered, saving.value, 0);
  return {
    paysOff,
    copies: copies.interval!.high,
    figures: [...figures, copies],
    sentences: [
      cost <= 0
        ? `${size}: pinned memory costs no more than pageable memory, and each copy saves ${figureText(saving)}.`
        : `${size}: pinning costs ${durationText(cost)} and each copy saves ${figureText(saving)}, so that it has paid off after ${copiesText(copies.value)}${
            other === null || other >= copies.value ? "" : ` (registered, after ${copiesText(other)})`
          }.`,
    ],
  };
}

function copiesText(count: number): string {
  return count === 1 ? "1 copy" : `${count} copies`;
}

function adviceFor(told: readonly ToldSize[]): string {
  const copies = told.map((one) => one.copies).filter((one) => one !== null);
  if (copies.length === 0) return "Nothing here says that a buffer should be pinned.";
  const most = Math.max(...copies);
  return most <= 1
    ? "Pinning pays at once: even a buffer that is copied a single time."
    : `Pin buffers that are used again: ${copiesText(most)} are enough at each of these sizes that pays. What is copied once may stay pageable.`;
}

/** After how many copies pinning has paid off. */
export const paysOff: Question = {
  name: "pays-off",
  title: "after how many copies does pinning pay off?",
  claim: "Pinning takes time, once; a buffer that is copied again and again earns it back.",
  needs: "device",
  mostMs: 15_000,
  async answer(tools) {
    const document = await tools.run(request);
    const sizes = request.sizesBytes.map((sizeBytes): PinningOfSize => {
      const time = (memory: "pageable" | "pinned") => {
        const name = `${formatSize(sizeBytes)}: a ${memory} copy`;
        return timeFigure(name, cellOf(document, { memory, sizeBytes }));
      };
      return {
        sizeBytes,
        pageable: time("pageable"),
        pinned: time("pinned"),
        ...costsOf(document, sizeBytes),
      };
    });
    return { ...concludePaysOff(sizes), command: tools.commandFor(request) };
  },
};

/** What pinning a buffer of a size took beyond a pageable one. */
function costsOf(
  { coldStart }: ResultDocument,
  sizeBytes: number,
): Pick<PinningOfSize, "costNs" | "repetitions"> {
  const record = coldStart[0]?.pinning.find((one) => one.sizeBytes === sizeBytes);
  const total = (cost: PinningCost | null | undefined) =>
    cost == null ? null : cost.allocateNs + cost.freeNs;
  const pageable = total(record?.pageable);
  const beyond = (cost: PinningCost | null | undefined) => {
    const ns = total(cost);
    return ns === null || pageable === null ? null : ns - pageable;
  };
  return {
    costNs: { pinned: beyond(record?.pinned), registered: beyond(record?.registered) },
    repetitions: record?.repetitions ?? 1,
  };
}
