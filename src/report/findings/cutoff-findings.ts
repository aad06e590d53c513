import { counted } from "../../draw/words.js";
import type { BlockCutoffs } from "../../results/cutoffs/cutoff-schema.js";
import type { ResultDocument } from "../../results/schema.js";
import { formatSize } from "../../settings/units.js";
import { joinDirections } from "../tables/join-directions.js";
import { wayName } from "./block-findings.js";
import type { VariantFinding } from "./variant-question.js";

/** From which block size on another way is the best, as `--blocks auto` found it: one line for each kind of memory. */
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

/** Of the copies of the most blocks that have a cut-off: what servers move at once. */
function clause(columns: readonly BlockCutoffs[]): string | null {
  if (columns.length === 0) return null;
  const column = columns.findLast(({ cutoffs }) => cutoffs.length > 0);
  if (column !== undefined) {
    const { leastBytes, mostBytes, below, above } = column.cutoffs[0]!;
    const sizes = `up to ${formatSize(leastBytes)} and ${wayName[above.way]} from ${formatSize(mostBytes)} on`;
    return `${wayName[below.way]} is fastest ${sizes} (${counted(column.blockCount, "block")})`;
  }
  const sizes = columns.flatMap((one) => one.sizes);
  const [way, ...others] = new Set(sizes.map(({ fastest }) => fastest.way));
  if (way !== undefined && others.length === 0 && sizes.every(({ isCertain }) => isCertain)) {
    return `${wayName[way]} is fastest at every size`;
  }
  return "these intervals show no block size at which the best way changes";
}
