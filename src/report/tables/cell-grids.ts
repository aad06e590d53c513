import { formatGBps, formatMilliseconds, formatRatio } from "../../draw/numbers.js";
import {
  blank,
  type Column,
  type Figure,
  figure,
  type Grid,
  numberColumn,
  wordColumn,
} from "../../draw/report.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import {
  absentFigure,
  isMeasured,
  measuredStats,
  medianFigure,
  shareFigure,
  shareOfSpeed,
  tableFigures,
} from "../../results/naming/cell-figure.js";
import { directionName } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { aloneIn } from "../../results/variant.js";
import type { DirectionMoved } from "../../settings/choices.js";
import { ascending } from "../../stats/order-statistics.js";
import { blockGrids, rowsOfWays } from "./block-grids.js";
import {
  type CellGroup,
  type GridContext,
  type GroupRow,
  groupCells,
  labelColumns,
  rowLabels,
} from "./cell-group.js";
import { movedIn, nodeGrid, peerGrid, togetherGrid } from "./several-devices-grids.js";

/**
 * The tables of a result: one for each device, direction, mode and cache state; those of variants follow the
 * tables that they are compared with. Blocks have a second table, with the cost of each.
 */
export function cellGrids(document: ResultDocument): (Grid & { caption: string; isDetail?: true })[] {
  const precision = document.plan?.precision ?? 0;
  const aloneOf = aloneIn(document.cells);
  const explained = new Set<string>();
  const groups = groupCells(document);
  const isPlain = groups.every(({ variant }) => variant === "plain");
  const hasMap = (document.blockCutoffs ?? []).length > 0;
  return groups.flatMap((group) => {
    const grids = gridsOf(group, { precision, aloneOf, devices: document.devices });
    return grids.map(({ footnote, ...rest }, index) => {
      // The explanation of a kind of table appears once; below each plain table there is what its own controls show.
      const shown = footnote === undefined || explained.has(footnote) ? group.footnote : footnote;
      if (footnote !== undefined) explained.add(footnote);
      return {
        caption: group.title,
        ...rest,
        ...(rest.keyRows === undefined ? keyRowsOf(rest) : {}),
        ...(isPlain && document.devices.length === 1
          ? {
              joins: {
                row: directionName[group.direction],
                caption: group.title.split(", ").slice(1).join(", "),
              },
            }
          : {}),
        ...(shown === undefined ? {} : { footnote: shown }),
        // Single devices alone are known from plain runs, and the results of a search have their own table.
        ...((!isPlain && group.variant === "plain") || index > 0 || hasMap ? { isDetail: true } : {}),
      };
    });
  });
}

/** Whether a terminal without --all shows a cell's row. */
export function rowsInBrief(document: ResultDocument): (cell: CellResult) => boolean {
  const groups = groupCells(document);
  const grids = cellGrids(document);
  const hidden = groups.flatMap(({ title, rows: groupRows }) => {
    const { columns, rows, keyRows = [], isDetail } = grids.find(({ caption }) => caption === title)!;
    const labels = labelColumns.filter(({ head }, i) => head[0] === columns[i]?.head[0]).length;
    const textOf = (row: readonly Figure[]) =>
      row
        .slice(0, labels)
        .map(({ text, note }) => text + note)
        .join();
    const shown = new Set(isDetail ? [] : keyRows.map((index) => textOf(rows[index]!)));
    return groupRows.filter((row) => !shown.has(textOf(rowLabels(row)))).flatMap(({ members }) => members);
  });
  const ids = new Set(hidden.map(({ id }) => id));
  return ({ id }) => !ids.has(id);
}

/** Most sizes without --all: in tables by size and workers, and in others, which need more lines. */
const mostKeySizes = { plain: 5, other: 3 } as const;

/** Rows of sizes spread over all, each with the fewest workers, and for the largest size also with the most. */
function keyRowsOf({ columns, rows }: Grid): Required<Pick<Grid, "keyRows" | "coreRows">> {
  const [size, workers] = [0, columns[1]?.head[0] === "workers" ? 1 : -1];
  const text = (row: readonly Figure[], column: number) => (column < 0 ? "" : row[column]!.text);
  const sizes = [...new Set(rows.map((row) => text(row, size)))];
  const most = mostKeySizes[workers < 0 ? "other" : "plain"];
  const step = Math.max(1, (sizes.length - 1) / (most - 1));
  const kept = new Set(
    sizes.filter((_, i) => Math.round(Math.round(i / step) * step) === i || sizes.length <= most),
  );
  const counts = [...new Set(rows.map((row) => text(row, workers)))];
  const [fewest, highest] = [counts[0], counts.at(-1)];
  const isLargest = (row: readonly Figure[]) => text(row, size) === sizes.at(-1);
  const isFewest = (row: readonly Figure[]) => text(row, workers) === fewest;
  const those = (isShown: (row: readonly Figure[]) => boolean) =>
    rows.flatMap((row, index) => (isShown(row) ? [index] : []));
  return {
    keyRows: those(
      (row) =>
        (kept.has(text(row, size)) && isFewest(row)) || (isLargest(row) && text(row, workers) === highest),
    ),
    coreRows: those((row) => isLargest(row) && isFewest(row)),
  };
}

function gridsOf(group: CellGroup, context: GridContext): Grid[] {
  switch (group.variant) {
    case "together":
      return [togetherGrid(group, context)];
    case "p2p":
      return [peerGrid(group, context)];
    case "beside":
      return [besideGrid(group, context)];
    case "pipeline":
      return [pipelineGrid(group, context)];
    case "blocks":
      return blockGrids(group, context);
    case "blocks-beside":
      return [loadGrid(rowsOfWays(group), group, context)];
    case "numa":
      return [nodeGrid(group, context)];
    case "plain":
      return group.direction === "bidir"
        ? [bidirGrid(group, context.precision)]
        : [oneWayGrid(group, group.direction, context.precision)];
  }
}

/**
 * Rows by size and workers. Each kind of memory has a column of rates, followed by the gain from pinning and the share
 * of the link; or two columns of latencies: the median and the 99th percentile of one copy.
 */
function oneWayGrid(group: CellGroup, direction: DirectionMoved, precision: number): Grid {
  const { memories, mode } = group;
  const isLatency = mode === "latency";
  const derived = isLatency ? [] : [...pinnedOverPageable(group, direction), ...linkShare(group, direction)];
  const columns = [
    ...labelColumns,
    ...memories.flatMap((memory) =>
      isLatency ? [numberColumn(memory, "median"), numberColumn("", "p99")] : [numberColumn(memory)],
    ),
    ...derived.map(({ column }) => column),
  ];
  const rows = group.rows.map((row) => [
    ...rowLabels(row),
    ...memories.flatMap((memory) => tableFigures(row.cells.get(memory), direction, mode, precision)),
    ...derived.map(({ of }) => of(row)),
  ]);
  return { columns, rows, labels: 2 };
}

/**
 * Rows by size, workers and kind of memory: with several figures per cell, a column for each kind of memory would be
 * too wide, so the kinds are below each other, next to what they are compared with.
 */
function bidirGrid({ memories, mode, device, rows }: CellGroup, precision: number): Grid {
  const isLatency = mode === "latency";
  const moved = isLatency ? (["h2d", "d2h"] as const) : (["h2d", "d2h", "sum"] as const);
  const comparesPageable = !isLatency && memories.includes("pageable") && memories.length > 1;
  const limitGBps = isLatency ? null : device.linkLimitGBps;
  const columns = [
    ...labelColumns,
    wordColumn("memory"),
    ...moved.flatMap((one) => {
      const name = directionName[one];
      return isLatency ? [numberColumn(name, "median"), numberColumn(name, "p99")] : [numberColumn(name)];
    }),
    ...(comparesPageable ? [numberColumn("sum/", "pageable")] : []),
    ...(limitGBps === null ? [] : [numberColumn("sum/", "2× link")]),
  ];
  const rowOf = (row: GroupRow, memory: CellResult["memory"]) => {
    const cell = row.cells.get(memory);
    const gain = memory === "pageable" ? blank : ratioFigure(cell, row.cells.get("pageable"), "sum");
    const sumGBps = measuredStats(cell, "sum")?.bandwidthGBps.median ?? null;
    return [
      ...rowLabels(row),
      figure(memory),
      ...moved.flatMap((one) => tableFigures(cell, one, mode, precision)),
      ...(comparesPageable ? [gain] : []),
      // A PCIe link has its limit in each direction at the same time.
      ...(limitGBps === null ? [] : [shareFigure(sumGBps === null ? null : sumGBps / (2 * limitGBps))]),
    ];
  };
  const filled = rows.flatMap((row) =>
    memories.filter((memory) => row.cells.has(memory)).map((memory) => rowOf(row, memory)),
  );
  return { columns, rows: filled, labels: 3 };
}

/** A column computed from the other figures of its row. */
interface DerivedColumn {
  column: Column;
  of: (row: GroupRow) => Figure;
}

function pinnedOverPageable({ memories }: CellGroup, direction: DirectionMoved): DerivedColumn[] {
  if (!(memories.includes("pinned") && memories.includes("pageable"))) return [];
  const column = numberColumn("pinned/", "pageable");
  return [{ column, of: ({ cells }) => ratioFigure(cells.get("pinned"), cells.get("pageable"), direction) }];
}

/** For the pinned column, which can come near the link's limit; without pinned, for the best of the row. */
function linkShare({ memories, rows }: CellGroup, direction: DirectionMoved): DerivedColumn[] {
  const ofPinned = memories.includes("pinned");
  const shareOf = ({ cells }: GroupRow): number | null => {
    const candidates = ofPinned ? [cells.get("pinned")] : [...cells.values()];
    const shares = candidates.flatMap((cell) => measuredStats(cell, direction)?.linkShare ?? []);
    return shares.length === 0 ? null : Math.max(...shares);
  };
  if (rows.every((row) => shareOf(row) === null)) return [];
  const label = ofPinned ? "pinned" : memories.length === 1 ? memories[0] : "best";
  return [{ column: numberColumn(`${label}/`, "link"), of: (row) => shareFigure(shareOf(row)) }];
}

/** Ratio of medians; absent if one of them was not measured. */
function ratioFigure(
  of: CellResult | undefined,
  over: CellResult | undefined,
  direction: CellStats["direction"],
): Figure {
  const dividend = measuredStats(of, direction)?.bandwidthGBps.median;
  const divisor = measuredStats(over, direction)?.bandwidthGBps.median;
  return dividend === undefined || divisor === undefined || divisor === 0
    ? absentFigure
    : figure(formatRatio(dividend / divisor));
}

/** Rows by size, workers and kind of memory. */
function besideGrid(group: CellGroup, context: GridContext): Grid {
  const { memories, rows } = group;
  const ofMemories = rows.flatMap((row) =>
    memories.flatMap((memory) => {
      const cell = row.cells.get(memory);
      return cell === undefined ? [] : [{ labels: [...rowLabels(row), figure(memory)], cell }];
    }),
  );
  return loadGrid({ columns: [...labelColumns, wordColumn("memory")], rows: ofMemories }, group, context);
}

/**
 * A row for each cell: the copy alone, during the load, and the share of speed that it keeps; then the same for the
 * load, which runs alone right before and after the copies.
 */
function loadGrid(
  { columns: labels, rows }: ReturnType<typeof rowsOfWays>,
  { direction, mode }: CellGroup,
  { precision, aloneOf }: GridContext,
): Grid {
  const moved = movedIn(direction, mode);
  const unit = rows.find(({ cell }) => cell.load != null)?.cell.load?.unit;
  const unitOfLoad = unit === undefined ? [] : [unit];
  const columns = [
    ...labels,
    ...(moved.length > 1 ? [wordColumn("")] : []),
    numberColumn("copy", "alone"),
    numberColumn("copy", "beside"),
    numberColumn("copy", "keeps"),
    numberColumn("load", "alone", ...unitOfLoad),
    numberColumn("load", "beside", ...unitOfLoad),
    numberColumn("load", "keeps"),
  ];
  const filled = rows.flatMap(({ labels, cell }) => {
    const alone = aloneOf(cell);
    return moved.map((one, i) => [
      ...labels,
      ...(moved.length > 1 ? [figure(directionName[one])] : []),
      medianFigure(alone, one, precision),
      medianFigure(cell, one, precision),
      shareFigure(shareOfSpeed(cell, alone, one)),
      // There is one load, whatever directions are copied.
      ...(i === 0 ? loadFigures(cell) : [blank, blank, blank]),
    ]);
  });
  const count = labels.length + (moved.length > 1 ? 1 : 0);
  return { columns, rows: filled, labels: count, footnote: besideNote };
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
function pipelineGrid(group: CellGroup, { precision, aloneOf }: GridContext): Grid {
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
