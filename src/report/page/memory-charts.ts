import type { BarChart, BarGroup } from "../../draw/chart/chart.js";
import { groupBy } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import { measuredStats } from "../../results/naming/cell-figure.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { CellResult, ResultDocument } from "../../results/schema.js";
import { isPlain } from "../../results/variant.js";
import { directions, memories } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { cellsAskedFor } from "../host-control.js";
import { barAxis, barOf, describeBars, mainCells } from "./bar-parts.js";
import { wholeOf } from "./cell-points.js";
import { chartName, clockSuffix, devicePrefix } from "./chart-identity.js";

/**
 * Of rates of a single size, which have no curve over sizes: a bar each, a group a memory kind. A chart for each device,
 * timer and cache state.
 */
export function memoryCharts(document: ResultDocument): BarChart[] {
  const plain = cellsAskedFor(document).filter((cell) => isPlain(cell) && cell.mode === "throughput");
  const tables = groupBy(plain, ({ device, timer, cache }) => [device, timer, cache].join("/"));
  return [...tables.values()].flatMap((all) => {
    const measured = all.filter((cell) => measuredStats(cell, wholeOf(cell.direction)) !== null);
    const cells = mainCells(measured);
    const [first] = cells;
    const sizes = new Set(measured.map(({ sizeBytes }) => sizeBytes));
    if (first === undefined || sizes.size > 1) return [];
    const { device, mode, sizeBytes, workers } = first;
    const groups = memories.flatMap((memory) => groupOf(cells, memory));
    return [
      {
        kind: "bars",
        name: chartName(document, first, { before: [], shows: "by-memory" }),
        title: `${devicePrefix(document, device)}GB/s by kind of memory, copies of ${formatSize(sizeBytes)}, ${counted(workers, "worker")}${clockSuffix(first)}`,
        description: describeBars(groups),
        value: barAxis(mode),
        groups,
      },
    ];
  });
}

function groupOf(cells: readonly CellResult[], memory: CellResult["memory"]): BarGroup[] {
  const bars = directions.flatMap((direction) => {
    const cell = cells.find((one) => one.memory === memory && one.direction === direction);
    return barOf(cell, wholeOf(direction), { name: directionTitle[direction] });
  });
  return bars.length === 0 ? [] : [{ name: memory, style: memories.indexOf(memory), bars }];
}
