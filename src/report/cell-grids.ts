import type { CellResult, CellStats, ResultDocument } from "../results/schema.js";
import type { DirectionMoved } from "../settings/choices.js";
import { formatSize } from "../settings/units.js";
import {
  absentFigure,
  bandwidthFigure,
  measuredStats,
  medianLatencyFigure,
  tailLatencyFigure,
} from "./cell-figure.js";
import { type CellGroup, type GroupRow, groupCells } from "./cell-group.js";
import { formatRatio, formatShare } from "./format-number.js";
import { blank, type Column, type Figure, figure, type Grid, withoutRepeats } from "./report-parts.js";

/** The tables of a result: one a device, direction, mode, timer and cache state. */
export function cellGrids(document: ResultDocument): Grid[] {
  const precision = document.plan?.precision ?? 0;
  return groupCells(document).map((group) => {
    const { direction, mode } = group;
    if (direction === "bidir") {
      return mode === "latency" ? bidirLatencyGrid(group, precision) : bidirThroughputGrid(group, precision);
    }
    return mode === "latency"
      ? latencyGrid(group, direction, precision)
      : throughputGrid(group, direction, precision);
  });
}

/** Rows size x workers, a column for each memory kind, then what pinning gains and what of the link is used. */
function throughputGrid(group: CellGroup, direction: DirectionMoved, precision: number): Grid {
  const derived = [pinnedOverPageable(group, direction), linkShare(group, direction)].filter(
    (column) => column !== null,
  );
  const columns = [
    ...labelColumns,
    ...group.memories.map((memory) => numbers(memory)),
    ...derived.map(({ column }) => column),
  ];
  const rows = group.rows.map((row) => [
    ...rowLabels(row),
    ...group.memories.map((memory) => bandwidthFigure(row.cells.get(memory), direction, precision)),
    ...derived.map(({ of }) => of(row)),
  ]);
  return { caption: group.title, columns, rows: withoutRepeats(rows, 1) };
}

/** Rows size x workers, two columns for each memory kind: the median and the 99th percentile of one copy. */
function latencyGrid(group: CellGroup, direction: DirectionMoved, precision: number): Grid {
  const columns = [
    ...labelColumns,
    ...group.memories.flatMap((memory) => [numbers(memory, "median"), numbers("", "p99")]),
  ];
  const rows = group.rows.map((row) => [
    ...rowLabels(row),
    ...group.memories.flatMap((memory) => [
      medianLatencyFigure(row.cells.get(memory), direction, precision),
      tailLatencyFigure(row.cells.get(memory), direction),
    ]),
  ]);
  return { caption: group.title, columns, rows: withoutRepeats(rows, 1) };
}

/**
 * Three rates a cell would make a column for each memory kind too wide, so the memory kinds stand below each
 * other, next to what they are compared with.
 */
function bidirThroughputGrid(group: CellGroup, precision: number): Grid {
  const comparesPageable = group.memories.includes("pageable") && group.memories.length > 1;
  const limitGBps = group.device.linkLimitGBps;
  const columns = [
    ...["H2D", "D2H", "sum"].map((head) => numbers(head)),
    ...(comparesPageable ? [numbers("sum/", "pageable")] : []),
    ...(limitGBps === null ? [] : [numbers("sum/", "2× link")]),
  ];
  return bidirGrid(group, columns, (memory, cells) => {
    const cell = cells.get(memory);
    const rates = (["h2d", "d2h", "sum"] as const).map((moved) => bandwidthFigure(cell, moved, precision));
    const gain = memory === "pageable" ? blank : ratioFigure(cell, cells.get("pageable"), "sum");
    const sumGBps = measuredStats(cell, "sum")?.bandwidthGBps.median ?? null;
    return [
      ...rates,
      ...(comparesPageable ? [gain] : []),
      // A PCIe link carries its limit each way at the same time.
      ...(limitGBps === null ? [] : [shareFigure(sumGBps === null ? null : sumGBps / (2 * limitGBps))]),
    ];
  });
}

function bidirLatencyGrid(group: CellGroup, precision: number): Grid {
  const columns = ["H2D", "D2H"].flatMap((direction) => [
    numbers(direction, "median"),
    numbers(direction, "p99"),
  ]);
  return bidirGrid(group, columns, (memory, cells) =>
    (["h2d", "d2h"] as const).flatMap((moved) => [
      medianLatencyFigure(cells.get(memory), moved, precision),
      tailLatencyFigure(cells.get(memory), moved),
    ]),
  );
}

/** Rows size x workers x memory kind. */
function bidirGrid(
  group: CellGroup,
  columns: readonly Column[],
  figuresOf: (memory: CellResult["memory"], cells: GroupRow["cells"]) => Figure[],
): Grid {
  const rows = group.rows.flatMap((row) =>
    group.memories
      .filter((memory) => row.cells.has(memory))
      .map((memory) => [...rowLabels(row), figure(memory), ...figuresOf(memory, row.cells)]),
  );
  return {
    caption: group.title,
    columns: [...labelColumns, { head: ["memory"], align: "left" }, ...columns],
    rows: withoutRepeats(rows, 2),
  };
}

function numbers(...head: string[]): Column {
  return { head, align: "right" };
}

const labelColumns: readonly Column[] = [numbers("size"), numbers("workers")];

function rowLabels({ sizeBytes, workers }: GroupRow): Figure[] {
  return [figure(formatSize(sizeBytes)), figure(String(workers))];
}

/** A column that is computed from the other figures of its row. */
interface DerivedColumn {
  column: Column;
  of: (row: GroupRow) => Figure;
}

function pinnedOverPageable(group: CellGroup, direction: DirectionMoved): DerivedColumn | null {
  if (!(group.memories.includes("pinned") && group.memories.includes("pageable"))) {
    return null;
  }
  return {
    column: numbers("pinned/", "pageable"),
    of: ({ cells }) => ratioFigure(cells.get("pinned"), cells.get("pageable"), direction),
  };
}

/** Of the pinned column, which is the one that can come near the link; of the row's best where pinned is absent. */
function linkShare(group: CellGroup, direction: DirectionMoved): DerivedColumn | null {
  const ofPinned = group.memories.includes("pinned");
  const shareOf = ({ cells }: GroupRow): number | null => {
    const candidates = ofPinned ? [cells.get("pinned")] : [...cells.values()];
    const shares = candidates.flatMap((cell) => measuredStats(cell, direction)?.linkShare ?? []);
    return shares.length === 0 ? null : Math.max(...shares);
  };
  if (group.rows.every((row) => shareOf(row) === null)) {
    return null;
  }
  const [only] = group.memories;
  const label = ofPinned ? "pinned" : group.memories.length === 1 && only !== undefined ? only : "best";
  return { column: numbers(`${label}/`, "link"), of: (row) => shareFigure(shareOf(row)) };
}

function shareFigure(share: number | null): Figure {
  return share === null ? absentFigure : figure(formatShare(share));
}

/** Median over median; absent where one of them was not measured. */
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
