import { formatGBps } from "../../draw/numbers.js";
import { isMeasured } from "../../results/naming/cell-figure.js";
import { cellNames, directionName } from "../../results/naming/wording.js";
import { leastLostShare, lostShare } from "../../results/over-time.js";
import type { ResultDocument } from "../../results/schema.js";
import { isSteady } from "../../results/variant.js";
import { mostSamples } from "../../settings/table.js";
import { doubled, formatSize } from "../../settings/units.js";
import { groupBy } from "../../stats/group-by.js";
import { requestedCells } from "../tables/cell-group.js";
import type { Finding } from "./finding.js";

export function cutoffFindings({ blockCutoffs, plan }: ResultDocument): Finding[] {
  const kinds = groupBy(blockCutoffs ?? [], ({ device, memory, workers, direction }) =>
    [device, memory, workers, direction].join("/"),
  );
  return [...kinds.values()].map((columns): Finding => {
    const { direction, memory, blockCount, cutoffs } =
      columns.findLast((column) => column.cutoffs.length > 0) ?? columns[0]!;
    const [first] = cutoffs;
    const ways = new Set(columns.flatMap(({ sizes }) => sizes.map(({ fastest }) => fastest)));
    const isCertain = columns.every(({ sizes }) => sizes.every((size) => size.isCertain));
    const onlyWay = ways.size === 1 && isCertain ? [...ways][0] : undefined;
    const subject = `${directionName[direction]} ${memory} ${blockCount} blocks`;
    const shared = { subject, figure: "fastest way", interval: "", against: "" } as const;
    if (first !== undefined) {
      const value = `${first.below} up to ${formatSize(first.leastBytes)}, ${first.above} from ${formatSize(first.mostBytes)}`;
      return { ...shared, value, verdict: "", hint: "" };
    }
    return onlyWay === undefined
      ? {
          ...shared,
          value: "-",
          verdict: "undecided",
          hint: plan === null ? "" : moreSamples(plan),
        }
      : { ...shared, value: `${onlyWay} at every size`, verdict: "", hint: "" };
  });
}

function moreSamples({ samplesPerCell, budgetNs }: NonNullable<ResultDocument["plan"]>): string {
  return samplesPerCell === null
    ? `Use --budget ${doubled(budgetNs)}.`
    : `Use --samples ${Math.min(mostSamples, 2 * samplesPerCell)}.`;
}

/**
 * The cell whose average rate is farthest below its median, and the number of others, among steady copies
 * (`isSteady()`) or among all others. Null without any. Latency cells do not count, because a single interrupt can
 * change the average of small copies.
 */
export function unstableFinding(document: ResultDocument, isOfSteady: boolean): Finding | null {
  const [worst, ...others] = requestedCells(document)
    .filter((cell) => isMeasured(cell) && cell.mode === "throughput" && isSteady(cell) === isOfSteady)
    .flatMap((cell) =>
      cell.stats
        .filter(({ direction }) => direction !== "sum")
        .map((stats) => ({ cell, stats, share: lostShare(stats) ?? 0 })),
    )
    // A share of 1 comes from rounding contradictory figures, and leaves no mean to show.
    .filter((one) => one.share >= leastLostShare && one.share < 1)
    .sort((a, b) => b.share - a.share);
  if (worst === undefined) return null;
  const { cell, stats, share } = worst;
  const { median } = stats.bandwidthGBps;
  const name = cellNames(document.cells.map(({ id }) => id))(cell.id, stats.direction);
  return {
    subject: others.length === 0 ? name : `${name} and ${others.length} more`,
    figure: "averages",
    value: `${formatGBps(median * (1 - share))} GB/s, median ${formatGBps(median)}`,
    interval: "",
    against: "",
    verdict: "unstable",
    hint: "Is the machine busy?",
  };
}
