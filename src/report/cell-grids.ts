import type { ResultDocument } from "../results/schema.js";
import { bidirLatencyGrid, bidirThroughputGrid } from "./bidir-grid.js";
import { type CellGroup, groupCells } from "./cell-group.js";
import { latencyGrid } from "./latency-grid.js";
import type { Grid } from "./report-parts.js";
import { throughputGrid } from "./throughput-grid.js";

/** The tables of a result: one a device, direction, mode, timer and cache state. */
export function cellGrids(document: ResultDocument): Grid[] {
  return groupCells(document).map((group) => builderOf(group)(group, document.plan?.precision ?? 0));
}

function builderOf({ direction, mode }: CellGroup): (group: CellGroup, precision: number) => Grid {
  if (direction === "bidir") {
    return mode === "latency" ? bidirLatencyGrid : bidirThroughputGrid;
  }
  return mode === "latency" ? latencyGrid : throughputGrid;
}
