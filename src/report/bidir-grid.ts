import { bandwidthFigure, medianLatencyFigure, sign, tailLatencyFigure } from "./cell-figure.js";
import type { CellGroup } from "./cell-group.js";
import { formatShare } from "./format-number.js";
import { blank, type Column, type Figure, figure, type Grid, withoutRepeats } from "./report-parts.js";
import { labelColumns, ratioFigure, rowLabels } from "./throughput-grid.js";
import { isMeasured, statsOf } from "./wording.js";

const memoryColumn: Column = { head: ["memory"], align: "left" };

/**
 * Three rates a cell would make a column for each memory kind too wide, so the memory kinds stand below each
 * other, next to what they are compared with.
 */
export function bidirThroughputGrid(group: CellGroup, precision: number): Grid {
  const comparesPageable = group.memories.includes("pageable") && group.memories.length > 1;
  const limitGBps = group.device.linkLimitGBps;
  const columns: Column[] = [
    ...labelColumns,
    memoryColumn,
    ...["H2D", "D2H", "sum"].map((head): Column => ({ head: [head], align: "right" })),
    ...(comparesPageable ? [{ head: ["sum/", "pageable"], align: "right" } as const] : []),
    ...(limitGBps === null ? [] : [{ head: ["sum/", "2× link"], align: "right" } as const]),
  ];
  return gridOf(group, columns, (memory, cells) => {
    const cell = cells.get(memory);
    const rates = (["h2d", "d2h", "sum"] as const).map((moved) => bandwidthFigure(cell, moved, precision));
    const gain = memory === "pageable" ? blank : ratioFigure(cell, cells.get("pageable"), "sum");
    const sumGBps =
      cell !== undefined && isMeasured(cell) ? statsOf(cell, "sum")?.bandwidthGBps.median : undefined;
    return [
      ...rates,
      ...(comparesPageable ? [gain] : []),
      ...(limitGBps === null ? [] : [shareOfBothWays(sumGBps, limitGBps)]),
    ];
  });
}

export function bidirLatencyGrid(group: CellGroup, precision: number): Grid {
  const columns: Column[] = [
    ...labelColumns,
    memoryColumn,
    ...["H2D", "D2H"].flatMap((direction): Column[] => [
      { head: [direction, "median"], align: "right" },
      { head: [direction, "p99"], align: "right" },
    ]),
  ];
  return gridOf(group, columns, (memory, cells) =>
    (["h2d", "d2h"] as const).flatMap((moved) => [
      medianLatencyFigure(cells.get(memory), moved, precision),
      tailLatencyFigure(cells.get(memory), moved),
    ]),
  );
}

type MemoryKind = CellGroup["memories"][number];
type RowCells = CellGroup["rows"][number]["cells"];

function gridOf(
  group: CellGroup,
  columns: readonly Column[],
  figuresOf: (memory: MemoryKind, cells: RowCells) => Figure[],
): Grid {
  const rows = group.rows.flatMap((row) =>
    group.memories
      .filter((memory) => row.cells.has(memory))
      .map((memory) => [...rowLabels(row), figure(memory), ...figuresOf(memory, row.cells)]),
  );
  return { caption: group.title, columns, rows: withoutRepeats(rows, 2) };
}

/** A PCIe link carries its limit each way at the same time. */
function shareOfBothWays(sumGBps: number | undefined, limitGBps: number): Figure {
  return sumGBps === undefined
    ? figure(sign.absent, "", "muted")
    : figure(formatShare(sumGBps / (2 * limitGBps)));
}
