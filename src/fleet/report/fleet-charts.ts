import type { StripChart, StripRow } from "../../draw/chart/chart.js";
import { formatChangeTick } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import type { FleetDocument, FleetGroup } from "../fleet-document.js";
import { figureText, lossText } from "../fleet-wording.js";
import {
  figuresOf,
  fleetCellNames,
  type GpuFigure,
  groupFacts,
  type NameOfFleetCell,
  outlierFinder,
  speedChange,
} from "./fleet-text.js";

export function fleetCharts(fleet: FleetDocument): StripChart[] {
  const nameOf = fleetCellNames(fleet);
  return fleet.groups.map((group, index) => chartOf(group, index, fleet, nameOf));
}

/** Maximum number of dots in a row: more overlap, and a page for 80 000 GPUs would be as large as their results. */
const mostDots = 2000;

/** GPUs of a group relative to their median, one row per cell. */
function chartOf(
  group: FleetGroup,
  index: number,
  fleet: FleetDocument,
  nameOf: NameOfFleetCell,
): StripChart {
  const every = Math.max(1, Math.ceil(group.devices / mostDots));
  const rows = group.cells.map((_, cell) => rowOf(fleet, index, cell, every, nameOf));
  const marked = rows.reduce((sum, { marks }) => sum + marks.length, 0);
  const name = fleet.groups.length > 1 ? `Group ${index + 1}` : "All nodes";
  return {
    kind: "strips",
    name: fleet.groups.length > 1 ? `gpus-of-group-${index + 1}` : "gpus",
    title: `${name}: each GPU against the median (${groupFacts(group)}), right is faster`,
    description: `${counted(group.devices, "GPU")} of ${counted(group.nodes, "node")} in ${counted(rows.length, "cell")}; ${marked === 0 ? "none is" : `${counted(marked, "figure")} ${marked === 1 ? "is" : "are"}`} called slow.`,
    x: { label: "change of speed", scale: "linear", format: formatChangeTick },
    rows,
    dotsName: every === 1 ? "GPU" : `GPU, one of ${every}`,
    marksName: "slow",
    rules: [{ axis: "x", value: 0, label: "median" }],
  };
}

function rowOf(
  fleet: FleetDocument,
  group: number,
  cellIndex: number,
  every: number,
  nameOf: NameOfFleetCell,
): StripRow {
  const cell = fleet.groups[group]!.cells[cellIndex]!;
  const outlierOf = outlierFinder(fleet.outliers);
  const isSlow = ({ node, device }: GpuFigure) => outlierOf(node.host, device.ordinal, cell) !== undefined;
  const gpus = figuresOf(fleet, group, cellIndex).flatMap((gpu) =>
    gpu.value === null ? [] : [{ ...gpu, value: gpu.value }],
  );
  const changeOf = ({ value }: { value: number }) => speedChange(value, cell);
  return {
    label: nameOf(cell),
    figure: figureText(cell.median, cell.unit),
    dots: gpus
      .filter((gpu) => !isSlow(gpu))
      .filter((_, i) => i % every === 0)
      .map(changeOf),
    marks: gpus.filter(isSlow).map((gpu) => {
      const change = changeOf(gpu);
      const name = `${gpu.node.host} GPU ${gpu.device.ordinal}`;
      const loss = change < 0 ? `, ${lossText(-change)} slower` : "";
      return {
        value: change,
        name,
        text: `${name}: ${figureText(gpu.value, cell.unit)}${loss}`,
      };
    }),
  };
}
