import { formatGBps, formatMilliseconds, formatRatio } from "../../draw/numbers.js";
import { blank, type Figure, figure, type Grid, numberColumn, wordColumn } from "../../draw/report.js";
import type { CellResult } from "../../results/cell-schema.js";
import {
  absentFigure,
  isMeasured,
  medianFigure,
  shareFigure,
  shareOfSpeed,
} from "../../results/naming/cell-figure.js";
import { directionName } from "../../results/naming/wording.js";
import { ascending } from "../../stats/order-statistics.js";
import { type CellGroup, type GridContext, labelColumns, rowLabels } from "./cell-group.js";
import { movedIn } from "./several-devices-grids.js";

/**
 * Rows by size, workers and kind of memory: the copy alone, during the load, and the share of speed that it keeps; then
 * the same for the load, which runs alone right before and after the copies.
 */
export function besideGrid(group: CellGroup, { precision, aloneOf }: GridContext): Grid {
  const { direction, mode, memories, rows } = group;
  const moved = movedIn(direction, mode);
  const unit = rows.flatMap((row) => row.members).find(({ load }) => load != null)?.load?.unit;
  const unitOfLoad = unit === undefined ? [] : [unit];
  const columns = [
    ...labelColumns,
    wordColumn("memory"),
    ...(moved.length > 1 ? [wordColumn("")] : []),
    numberColumn("copy", "alone"),
    numberColumn("copy", "beside"),
    numberColumn("copy", "keeps"),
    numberColumn("load", "alone", ...unitOfLoad),
    numberColumn("load", "beside", ...unitOfLoad),
    numberColumn("load", "keeps"),
  ];
  const filled = rows.flatMap((row) =>
    memories.flatMap((memory) => {
      const cell = row.cells.get(memory);
      if (cell === undefined) return [];
      const alone = aloneOf(cell);
      return moved.map((one, i) => [
        ...rowLabels(row),
        figure(memory),
        ...(moved.length > 1 ? [figure(directionName[one])] : []),
        medianFigure(alone, one, precision),
        medianFigure(cell, one, precision),
        shareFigure(shareOfSpeed(cell, alone, one)),
        // There is one load, whatever directions are copied.
        ...(i === 0 ? loadFigures(cell) : [blank, blank, blank]),
      ]);
    }),
  );
  return { columns, rows: filled, labels: moved.length > 1 ? 4 : 3, footnote: besideNote };
}

const besideNote =
  "copy alone: the same cell without the load, measured in the same rounds; load alone: right before and after each visit's " +
  "copies, while the load runs on, so that clocks have settled; load keeps: the median of the visits' shares";

function loadFigures(cell: CellResult): Figure[] {
  const load = isMeasured(cell) ? cell.load : null;
  if (load == null) return [absentFigure, absentFigure, absentFigure];
  return [
    figure(formatGBps(load.alone.median)),
    figure(formatGBps(load.during.median)),
    shareFigure(load.keptShare.median),
  ];
}

/**
 * Rows by size and kind of memory: the times of the copy and of the kernels alone, and for each chunk count a column
 * with the time of a batch, and below it the gain over one chunk.
 */
export function pipelineGrid(group: CellGroup, { precision, aloneOf }: GridContext): Grid {
  const { memories, rows } = group;
  const members = rows.flatMap((row) => row.members);
  const counts = ascending(members.flatMap(({ chunks }) => chunks ?? []));
  const columns = [
    numberColumn("size"),
    wordColumn("memory"),
    wordColumn(""),
    numberColumn("copy", "alone"),
    numberColumn("kernels", "alone"),
    ...counts.map((count) => numberColumn(String(count), count === 1 ? "chunk" : "chunks")),
  ];
  const filled = rows.flatMap((row) =>
    memories.flatMap((memory): Figure[][] => {
      const ofMemory = row.members.filter((cell) => cell.memory === memory);
      const [first] = ofMemory;
      if (first === undefined) return [];
      const cells = counts.map((count) => ofMemory.find(({ chunks }) => chunks === count));
      const whole = cells[counts.indexOf(1)];
      const labels = [...rowLabels(row).slice(0, 1), figure(memory)];
      const computeNs = cells.flatMap((cell) =>
        cell !== undefined && isMeasured(cell) ? (cell.computeNs ?? []) : [],
      )[0];
      const batchFigure = (cell: CellResult | undefined) =>
        medianFigure(cell, "h2d", precision, (rateGBps) => formatMilliseconds(row.sizeBytes / rateGBps));
      return [
        [
          ...labels,
          figure("ms"),
          batchFigure(aloneOf(first)),
          computeNs === undefined ? absentFigure : figure(formatMilliseconds(computeNs)),
          ...cells.map(batchFigure),
        ],
        [
          ...labels,
          figure("gain"),
          blank,
          blank,
          ...cells.map((cell) => (cell === whole ? blank : gainFigure(cell, whole))),
        ],
      ];
    }),
  );
  return { columns, rows: filled, labels: 3, footnote: pipelineNote };
}

const pipelineNote =
  "copies on one stream and kernels on another, each kernel after the copy of its chunk; gain: over 1 chunk, with which " +
  "the kernels wait for the whole copy";

function gainFigure(cell: CellResult | undefined, whole: CellResult | undefined): Figure {
  if (cell === undefined) return blank;
  const gain = shareOfSpeed(cell, whole, "h2d");
  return gain === null ? absentFigure : figure(formatRatio(gain));
}
