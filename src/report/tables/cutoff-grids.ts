import {
  blank,
  type Figure,
  figure,
  type Grid,
  groupBy,
  numberColumn,
  wordColumn,
} from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import { coarseBytes } from "../../results/cutoffs/block-lattice.js";
import type { BlockCutoffs, BlockWayRecord } from "../../results/cutoffs/cutoff-schema.js";
import { absentFigure } from "../../results/naming/cell-figure.js";
import { blockWayText, directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { formatSize } from "../../settings/units.js";

/**
 * What `--blocks auto` found: a table for each device, direction, kind of memory and number of workers, with a row for each
 * size that was measured and a column for each number of blocks; the last row has the sizes at which the best way changes.
 */
export function cutoffGrids({ blockCutoffs, devices }: ResultDocument): (Grid & { caption: string })[] {
  const tables = groupBy(blockCutoffs ?? [], ({ device, direction, memory, workers }) =>
    [device, direction, memory, workers].join("/"),
  );
  const isVaried = (key: "memory" | "workers") =>
    new Set((blockCutoffs ?? []).map((column) => column[key])).size > 1;
  return [...tables.values()].map((columns, table) => {
    const [{ device, direction, memory, workers }] = columns as [BlockCutoffs];
    const caption = [
      (devices.length > 1 ? `Device ${device}: ` : "") + directionTitle[direction],
      ...(isVaried("memory") ? [memory] : []),
      ...(isVaried("workers") ? [counted(workers, "worker")] : []),
      "fastest way by block size and number of blocks",
    ].join(", ");
    return { caption, ...gridOf(columns), ...(table === 0 && { footnote: note }) };
  });
}

function gridOf(columns: readonly BlockCutoffs[]): Grid {
  const sizes = [...new Set(columns.flatMap((column) => column.sizes.map(({ blockBytes }) => blockBytes)))];
  sizes.sort((a, b) => a - b);
  const ends = columns.flatMap(({ cutoffs }) =>
    cutoffs.flatMap(({ leastBytes, mostBytes }) => [leastBytes, mostBytes]),
  );
  const isKey = (bytes: number) => coarseBytes.includes(bytes) || ends.includes(bytes);
  return {
    columns: [
      numberColumn("block"),
      ...columns.map(({ blockCount }) =>
        wordColumn(String(blockCount), blockCount === 1 ? "block" : "blocks"),
      ),
    ],
    rows: [
      ...sizes.map((bytes) => [figure(formatSize(bytes)), ...columns.map((column) => wayAt(column, bytes))]),
      [figure("cut-off"), ...columns.map(cutoffFigure)],
    ],
    keyRows: [...sizes.flatMap((bytes, row) => (isKey(bytes) ? [row] : [])), sizes.length],
  };
}

const note =
  "only sizes that decide are measured. In brackets: no way is faster by 2 % or more for certain, in other processes too; " +
  "copy engine (loop, batch), kernel and CPU (gather) count as one way each. cut-off: the last size of one way and " +
  "the first one of the next";

function wayAt({ sizes }: BlockCutoffs, bytes: number): Figure {
  const size = sizes.find(({ blockBytes }) => blockBytes === bytes);
  if (size === undefined) return blank;
  const text = wayText(size.fastest);
  return size.isCertain ? figure(text) : figure(`(${text})`, "", "muted");
}

function cutoffFigure({ cutoffs }: BlockCutoffs): Figure {
  if (cutoffs.length === 0) return absentFigure;
  return figure(
    cutoffs
      .map(({ leastBytes, mostBytes }) => `${formatSize(leastBytes)} to ${formatSize(mostBytes)}`)
      .join("; "),
  );
}

/** "kernel on 12 SMs". */
function wayText({ way, multiprocessors }: BlockWayRecord): string {
  return blockWayText(way, multiprocessors ?? undefined);
}
