import { formatGBps, formatMicroseconds } from "../../draw/numbers.js";
import { cellId } from "../../results/cell-id.js";
import type { CellResult } from "../../results/cell-schema.js";
import { type IntervalEstimate, orderOf, ratioInterval } from "../../results/figure-interval.js";
import { cellNames } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { aloneIn, type Variant, variantOf, variants } from "../../results/variant.js";
import { directions, memories } from "../../settings/choices.js";
import { groupBy } from "../../stats/group-by.js";
import { isEvidence, speedOf } from "./cell-speed.js";
import { type Finding, hintIfUndecided, ratioFinding } from "./finding.js";

interface Comparison {
  cell: CellResult;
  speed: IntervalEstimate;
  base: IntervalEstimate;
  against: string;
}

export interface ComparedFinding extends Finding {
  variant: Variant;
  ratio: IntervalEstimate;
}

/**
 * Compares each kind of cell with its counterpart, such as pinned memory with pageable, a variant with the
 * same copies alone, blocks with a loop. One finding per kind: at the largest size (latency: the smallest;
 * blocks: the smallest block), with the fewest workers (against one worker: the most); of devices or pairs
 * the worst, of numbers of chunks the best.
 */
export function comparisons(document: ResultDocument): ComparedFinding[] {
  const evidence = document.cells.filter(isEvidence);
  const nameOf = cellNames(document.cells.map(({ id }) => id));
  const compared = evidence.flatMap((cell) => comparisonOf(cell, evidence) ?? []);
  return [...groupBy(compared, kindOf).values()]
    .map(mainOf)
    .sort((a, b) => byRank(rankOf(a), rankOf(b)) || a.cell.id.localeCompare(b.cell.id))
    .map(({ cell, speed, base, against }) => {
      const order = orderOf(speed, base);
      const names = {
        subject: nameOf(cell.id),
        figure: cell.mode === "latency" ? "latency" : "rate",
        against: `${against} (${baseText(cell, base)})`,
      };
      return {
        ...ratioFinding(names, [speed, base], order),
        hint: order === "open" ? hintIfUndecided(document.run) : "",
        variant: variantOf(cell),
        ratio: ratioInterval(speed, base),
      };
    });
}

function baseText({ mode }: CellResult, { median }: IntervalEstimate): string {
  return mode === "latency" ? `${formatMicroseconds(1 / median)} µs` : `${formatGBps(median)} GB/s`;
}

function kindOf({ cell, against }: Comparison): string {
  const { peer, ...rest } = cell;
  const isOfWorkers = against === oneWorker;
  return [
    cellId({ ...rest, device: 0, sizeBytes: 0, workers: 0, ...omitted(cell) }),
    peer !== undefined,
    isOfWorkers,
  ].join("/");
}

const omitted = ({ chunks, blockBytes, together }: CellResult) => ({
  ...(chunks === undefined ? {} : { chunks: 1 }),
  ...(blockBytes === undefined ? {} : { blockBytes: 1 }),
  ...(together === undefined ? {} : { together: [] }),
});

const fewestWorkers = 1;
const oneWorker = "1 worker";

/** Null if no counterpart was measured. */
function comparisonOf(cell: CellResult, evidence: readonly CellResult[]): Comparison | null {
  const speed = speedOf(cell);
  const found = counterpartOf(cell, evidence);
  return speed === null || found === null ? null : { cell, speed, ...found };
}

function counterpartOf(
  cell: CellResult,
  evidence: readonly CellResult[],
): Pick<Comparison, "base" | "against"> | null {
  const like = (part: Partial<CellResult>) => {
    const id = cellId({ ...cell, ...part });
    const found = evidence.find((one) => one.id === id);
    return found === undefined ? null : speedOf(found);
  };
  const named = (against: string, base: IntervalEstimate | null) =>
    base === null ? null : { against, base };
  switch (variantOf(cell)) {
    case "plain":
      if (cell.workerKind === "process") return named("threads", like({ workerKind: "thread" }));
      if (cell.direction === "bidir")
        return named("both alone", sumOf([like({ direction: "h2d" }), like({ direction: "d2h" })]));
      if (cell.memory === "pageable")
        return cell.workers === fewestWorkers ? null : named(oneWorker, like({ workers: fewestWorkers }));
      return cell.memory === "pinned" || cell.memory === "device"
        ? named("pageable", like({ memory: "pageable" }))
        : (named("pinned", like({ memory: "pinned" })) ?? named("pageable", like({ memory: "pageable" })));
    case "pipeline":
      return cell.chunks === 1 ? null : named("1 chunk", like({ chunks: 1 }));
    case "blocks":
      return cell.blockWay === "loop" ? null : named("a loop", like({ blockWay: "loop" }));
    case "p2p":
      return cell.path === "through-host" ? null : named("through-host", like({ path: "through-host" }));
    case "numa":
      return null;
    default: {
      const alone = aloneIn(evidence)(cell);
      return alone === undefined ? null : named("alone", speedOf(alone));
    }
  }
}

function sumOf(parts: readonly (IntervalEstimate | null)[]): IntervalEstimate | null {
  return parts.reduce((sum, one) =>
    sum === null || one === null
      ? null
      : { median: sum.median + one.median, low: sum.low + one.low, high: sum.high + one.high },
  )!;
}

function mainOf(alike: readonly Comparison[]): Comparison {
  const [{ cell: first, against }] = alike as [Comparison];
  const largest =
    (of: (cell: CellResult) => number, isLeast = false) =>
    (some: readonly Comparison[]) => {
      const extreme = Math[isLeast ? "min" : "max"](...some.map(({ cell }) => of(cell)));
      return some.filter(({ cell }) => of(cell) === extreme);
    };
  const main = [
    ...(first.blockBytes === undefined ? [] : [largest(({ blockBytes }) => blockBytes!, true)]),
    largest(({ sizeBytes }) => sizeBytes, first.mode === "latency"),
    largest(({ workers }) => workers, against !== oneWorker),
  ].reduce((some, narrowed) => narrowed(some), alike);
  const ratioOf = ({ speed, base }: Comparison) => speed.median / base.median;
  return main.toSorted((a, b) => ratioOf(a) - ratioOf(b) || a.cell.device - b.cell.device)[
    first.chunks === undefined ? 0 : main.length - 1
  ]!;
}

function rankOf({ cell, against }: Comparison): number[] {
  return [
    variants.indexOf(variantOf(cell)),
    Number(cell.mode === "latency"),
    memories.indexOf(cell.memory),
    directions.indexOf(cell.direction),
    Number(against === oneWorker),
  ];
}

function byRank(a: readonly number[], b: readonly number[]): number {
  return a.map((rank, i) => rank - b[i]!).find((difference) => difference !== 0) ?? 0;
}
