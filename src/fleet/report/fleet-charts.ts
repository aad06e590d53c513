import type { StripChart, StripRow } from "../../draw/chart/chart.js";
import { formatChangeTick, formatSetting } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import type { FleetDocument, FleetGroup } from "../fleet-document.js";
import {
  figuresOf,
  figureText,
  fleetCellNames,
  type GpuFigure,
  groupFacts,
  lossText,
  type NameOfFleetCell,
  speedChange,
} from "./fleet-text.js";

/** A chart for each group: its GPUs against their median. */
export function fleetCharts(fleet: FleetDocument): StripChart[] {
  const nameOf = fleetCellNames(fleet);
  return fleet.groups.flatMap((group, index) => chartOf(group, index, fleet, nameOf));
}

/** Most dots in a row: more are a smear, and for 80 000 GPUs the page would be as large as their results. */
const mostDots = 2000;

/** All GPUs of a group against its centre, one row per cell; null for a group without figures. */
function chartOf(
  group: FleetGroup,
  index: number,
  fleet: FleetDocument,
  nameOf: NameOfFleetCell,
): StripChart[] {
  const every = Math.max(1, Math.ceil(group.devices / mostDots));
  const rows = group.cells.map((_, cell) => rowOf(fleet, index, cell, every, nameOf));
  if (rows.every(({ dots, marks }) => dots.length + marks.length === 0)) return [];
  const marked = rows.reduce((sum, { marks }) => sum + marks.length, 0);
  const what = groupFacts(group, fleet.groups);
  const name = fleet.groups.length > 1 ? `Group ${index + 1}` : "All nodes";
  return [
    {
      kind: "strips",
      name: fleet.groups.length > 1 ? `gpus-of-group-${index + 1}` : "gpus",
      title: `${name}: each GPU against the median${what === "" ? "" : ` (${what})`}, right is faster`,
      description: `${counted(group.devices, "GPU")} of ${counted(group.nodes, "node")} in ${counted(rows.length, "cell")}; ${marked === 0 ? "none is" : `${counted(marked, "figure")} ${marked === 1 ? "is" : "are"}`} called slow.`,
      x: { label: "change of speed", scale: "linear", format: formatChangeTick },
      rows,
      dotsName: every === 1 ? "GPU" : `GPU, one of ${every}`,
      marksName: "slow",
      rules: [
        { axis: "x", value: 0, label: "centre" },
        {
          axis: "x",
          value: -fleet.rule.threshold,
          label: `threshold ${formatSetting(fleet.rule.threshold)}`,
        },
      ],
    },
  ];
}

function rowOf(
  fleet: FleetDocument,
  group: number,
  cellIndex: number,
  every: number,
  nameOf: NameOfFleetCell,
): StripRow {
  const cell = fleet.groups[group]!.cells[cellIndex]!;
  const isNamed = slowGpus(fleet, cell);
  const gpus = figuresOf(fleet, group, cellIndex).flatMap((gpu) =>
    gpu.value === null ? [] : [{ ...gpu, value: gpu.value }],
  );
  const changeOf = ({ value }: { value: number }) => speedChange(value, cell);
  const isSlow = (gpu: (typeof gpus)[number]) => isNamed(gpu, changeOf(gpu));
  return {
    label: nameOf(cell),
    figure: figureText(cell.centre, cell.unit),
    dots: gpus
      .filter((gpu) => !isSlow(gpu))
      .filter((_, place) => place % every === 0)
      .map(changeOf),
    marks: gpus.filter(isSlow).map((gpu) => {
      const change = changeOf(gpu);
      const name = `${gpu.node.host} GPU ${gpu.device.ordinal}`;
      const loss = change < 0 ? `, ${lossText(change)} slower` : "";
      return {
        value: change,
        name,
        text: `${name}: ${figureText(gpu.value, cell.unit)}${loss}`,
      };
    }),
  };
}

/**
 * The slow GPUs of a cell: those that an outlier names in it, alone or with the whole node; and those named in another
 * cell that have also lost the threshold here, although this cell alone does not show it.
 */
function slowGpus(
  { outliers, rule }: FleetDocument,
  cell: { cell: string; moved: string },
): (gpu: GpuFigure, change: number) => boolean {
  const keyOf = ({ host, device }: { host: string; device: number | null }) => JSON.stringify([host, device]);
  const here = outliers.filter(({ cells }) =>
    cells.some((one) => one.cell === cell.cell && one.moved === cell.moved),
  );
  const [anywhere, inCell] = [outliers, here].map((some) => new Set(some.map(keyOf)));
  return ({ node: { host }, device: { ordinal } }, change) => {
    const keys = [null, ordinal].map((device) => keyOf({ host, device }));
    const isIn = (named: ReadonlySet<string>) => keys.some((key) => named.has(key));
    return isIn(inCell!) || (change <= -rule.threshold && isIn(anywhere!));
  };
}
