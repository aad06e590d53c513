import type { CellStats } from "../results/schema.js";
import { medianLatencyFigure, tailLatencyFigure } from "./cell-figure.js";
import type { CellGroup } from "./cell-group.js";
import { type Column, type Grid, withoutRepeats } from "./report-parts.js";
import { labelColumns, rowLabels } from "./throughput-grid.js";

/** Rows size x workers, two columns for each memory kind: the median and the 99th percentile of one copy. */
export function latencyGrid(group: CellGroup, precision: number): Grid {
  const direction = group.direction as CellStats["direction"];
  const columns: Column[] = [
    ...labelColumns,
    ...group.memories.flatMap((memory): Column[] => [
      { head: [memory, "median"], align: "right" },
      { head: ["", "p99"], align: "right" },
    ]),
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
