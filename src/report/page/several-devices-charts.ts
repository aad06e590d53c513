import type { Bar, BarChart, BarGroup } from "../../draw/chart/chart.js";
import { formatGBps, formatShare } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import { counted, listed } from "../../draw/words.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import { wholeOf } from "../../results/naming/cell-figure.js";
import { directionName, directionTitle } from "../../results/naming/wording.js";
import { isLocal, placedCells } from "../../results/nodes/node-rates.js";
import type { ResultDocument } from "../../results/schema.js";
import { aloneIn } from "../../results/variant.js";
import { memories, type PeerPath, peerPaths } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { type CellGroup, groupCells } from "../tables/cell-group.js";
import { sumOfRates } from "../tables/several-devices-grids.js";
import {
  barAxis,
  barOf,
  cacheSuffix,
  chartName,
  describeBars,
  mainCells,
  movedInCharts,
} from "./cell-points.js";

/** The rates of devices at once, each next to its rate alone, of pairs of devices, and by NUMA node. */
export function severalDevicesCharts(document: ResultDocument): BarChart[] {
  const groups = groupCells(document);
  const aloneOf = aloneIn(document.cells);
  return [
    ...groups
      .filter(({ variant }) => variant === "together")
      .flatMap((group) => togetherChart(document, group, aloneOf)),
    ...peerCharts(
      document,
      groups.filter(({ variant }) => variant === "p2p"),
    ),
    ...nodeCharts(document),
  ];
}

/**
 * A group of bars for each kind of memory, with a pair of bars for each device, for the largest size and the fewest
 * workers.
 */
function togetherChart(
  document: ResultDocument,
  { rows, direction, mode }: CellGroup,
  aloneOf: (cell: CellResult) => CellResult | undefined,
): BarChart[] {
  const cells = mainCells(rows.flatMap((row) => row.members));
  const [first] = cells;
  if (first?.together === undefined) return [];
  const { together, workers, sizeBytes } = first;
  const groups = memories.flatMap((memory) =>
    movedInCharts(direction, mode).flatMap((one) => {
      const ofMemory = cells.filter((cell) => cell.memory === memory);
      const name = direction === "bidir" ? `${memory}, ${directionName[one]}` : memory;
      return devicesGroup(name, ofMemory, one, aloneOf);
    }),
  );
  if (groups.length === 0) return [];
  const devices = listed(together.map(String));
  return [
    {
      kind: "bars",
      name: chartName(document, first, { before: [direction], shows: "at-once", ofAllDevices: true }),
      title: `Devices ${devices} at once against alone: ${directionTitle[direction]}, ${barAxis(mode).label}, copies of ${formatSize(sizeBytes)}, ${counted(workers, "worker")} a device${cacheSuffix(first)}`,
      description: describeBars(groups),
      value: barAxis(mode),
      groups,
    },
  ];
}

/** With the sum over the devices next to the name, if all of them have rates. */
function devicesGroup(
  name: string,
  cells: readonly CellResult[],
  moved: CellStats["direction"],
  aloneOf: (cell: CellResult) => CellResult | undefined,
): BarGroup[] {
  const [first] = cells;
  const bars = [...cells]
    .sort((a, b) => a.device - b.device)
    .flatMap((cell): Bar[] => [
      ...barOf(aloneOf(cell), moved, { name: `device ${cell.device} alone`, isReference: true }),
      ...barOf(cell, moved, { name: "at once", against: aloneOf(cell) }),
    ]);
  if (first === undefined || bars.length === 0) return [];
  const sumGBps = first.mode === "latency" ? null : sumOfRates(cells, moved);
  const aloneGBps = sumOfRates(
    cells.map((cell) => aloneOf(cell)),
    moved,
  );
  const share =
    sumGBps === null || aloneGBps === null || aloneGBps === 0
      ? ""
      : `, ${formatShare(sumGBps / aloneGBps)} of alone`;
  const sum = sumGBps === null ? "" : `: all devices at once ${formatGBps(sumGBps)} GB/s${share}`;
  return [{ name: name + sum, style: memories.indexOf(first.memory), bars }];
}

/** With more bars than this there is a chart for each path. */
const mostBars = 40;

const pathTitle: Readonly<Record<PeerPath, string>> = {
  write: "write: the source's copy engine",
  read: "read: the destination's copy engine",
  "through-host": "through-host: without peer access",
  "kernel-write": "kernel-write: a kernel on the source",
  "kernel-read": "kernel-read: a kernel on the destination",
};

/**
 * A group of bars for each path, with a bar for each pair, for the largest size and the fewest workers of each mode and
 * clock.
 */
function peerCharts(document: ResultDocument, groups: readonly CellGroup[]): BarChart[] {
  const cells = groups.flatMap(({ rows }) => rows.flatMap((row) => row.members));
  const kinds = groupBy(cells, ({ mode, cache }) => [mode, cache].join("/"));
  return [...kinds.values()].flatMap((all) => {
    const shown = mainCells(all);
    const byPath = peerPaths.flatMap((path, style): (BarGroup & { path: PeerPath })[] => {
      const bars = shown
        .filter((cell) => cell.path === path)
        .sort((a, b) => a.device - b.device || a.peer! - b.peer!)
        .flatMap((cell) => barOf(cell, "p2p", { name: `${cell.device} → ${cell.peer}` }));
      return bars.length === 0 ? [] : [{ path, name: pathTitle[path], style, bars }];
    });
    const count = byPath.reduce((sum, { bars }) => sum + bars.length, 0);
    const [first] = shown;
    if (first === undefined || count === 0) return [];
    const charts = count <= mostBars ? [byPath] : byPath.map((group) => [group]);
    return charts.map((some): BarChart => {
      const only = charts.length > 1 ? [some[0]!.path] : [];
      return {
        kind: "bars",
        name: chartName(document, first, {
          before: ["p2p", ...only],
          shows: "pairs",
          ofAllDevices: true,
        }),
        title: `${directionTitle.p2p}, from → to: ${barAxis(first.mode).label}${only.map((path) => `, ${path}`).join("")}, copies of ${formatSize(first.sizeBytes)}, ${counted(first.workers, "worker")}${cacheSuffix(first)}`,
        description: describeBars(some),
        value: barAxis(first.mode),
        groups: some.map(({ name, style, bars }) => ({ name, style, bars })),
      };
    });
  });
}

/** The rates with the memory of each NUMA node, with the CPUs nearest to it: a group of bars for each device and memory. */
function nodeCharts(document: ResultDocument): BarChart[] {
  const placed = placedCells(document);
  const local = placed.filter((cell) => isLocal(cell, placed));
  const kinds = groupBy(local, ({ direction, mode, cache }) => [direction, mode, cache].join("/"));
  return [...kinds.values()].flatMap((all) => {
    const cells = mainCells(all) as typeof local;
    const [first] = cells;
    if (first === undefined) return [];
    const { direction, mode, sizeBytes, workers } = first;
    const ofDevices = groupBy(cells, ({ device, memory }) => `${device}/${memory}`);
    const groups = [...ofDevices.values()].flatMap((members): BarGroup[] => {
      const [{ device, memory }] = members as [(typeof members)[number]];
      const bars = members
        .toSorted(
          (a, b) => a.memoryNode - b.memoryNode || (a.together?.length ?? 0) - (b.together?.length ?? 0),
        )
        .flatMap((cell) => {
          const when = cell.together === undefined ? "" : ", all at once";
          return barOf(cell, wholeOf(direction), { name: `node ${cell.memoryNode}${when}` });
        });
      const name = `device ${device}, ${memory}`;
      return bars.length === 0 ? [] : [{ name, style: memories.indexOf(memory), bars }];
    });
    if (groups.length === 0) return [];
    return [
      {
        kind: "bars",
        name: chartName(document, first, { before: [direction], shows: "by-node", ofAllDevices: true }),
        title: `${directionTitle[direction]} by NUMA node of the memory: ${barAxis(mode).label}, copies of ${formatSize(sizeBytes)}, ${counted(workers, "worker")}${cacheSuffix(first)}`,
        description: describeBars(groups),
        value: barAxis(mode),
        groups,
      },
    ];
  });
}
