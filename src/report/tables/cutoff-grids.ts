import { blank, type Figure, figure, type Grid, numberColumn, wordColumn } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import type { BlockCutoffs } from "../../results/cutoffs/cutoff-schema.js";
import { absentFigure } from "../../results/naming/cell-figure.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { formatSize } from "../../settings/units.js";
import { groupBy } from "../../stats/group-by.js";

/**
 * The result of `--blocks auto`: a table per device, direction, memory and number of workers, with a row per measured
 * size and a column per number of blocks. The last row has the sizes where the best method changes.
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
      "fastest method by block size and number of blocks",
    ].join(", ");
    return { caption, ...gridOf(columns), ...(table === 0 && { footnote: note }) };
  });
}

function gridOf(columns: readonly BlockCutoffs[]): Grid {
  const sizes = [...new Set(columns.flatMap((column) => column.sizes.map(({ blockBytes }) => blockBytes)))];
  sizes.sort((a, b) => a - b);
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
  };
}

const note =
  "in brackets: no method is faster by 5 % or more; cut-off: the last size of one method and the first of the next";

function wayAt({ sizes }: BlockCutoffs, bytes: number): Figure {
  const size = sizes.find(({ blockBytes }) => blockBytes === bytes);
  if (size === undefined) return blank;
  const text = size.fastest;
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
