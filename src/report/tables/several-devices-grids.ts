import { formatGBps } from "../../draw/numbers.js";
import {
  blank,
  type Figure,
  figure,
  type Grid,
  groupBy,
  numberColumn,
  wordColumn,
} from "../../draw/report.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import {
  absentFigure,
  measuredStats,
  medianFigure,
  shareFigure,
  shareOfSpeed,
} from "../../results/naming/cell-figure.js";
import { directionName } from "../../results/naming/wording.js";
import type { PlacedCell } from "../../results/nodes/node-rates.js";
import { memories, peerPaths } from "../../settings/choices.js";
import { ascending } from "../../stats/order-statistics.js";
import { sumOf } from "../../stats/variance.js";
import { type CellGroup, type GridContext, type GroupRow, labelColumns, rowLabels } from "./cell-group.js";

const ofAloneNote = "of alone: of what the same cell reaches by itself, measured in the same rounds";

/**
 * nvbandwidth times one direction of one device in each run, and gives all other copies twice the bytes
 * (allHostBidirHelper() in its testcase.cpp).
 */
const bothWaysNote =
  `${ofAloneNote}; every direction of every device copies until all have been timed. The rows H2D correspond to ` +
  "nvbandwidth's host_to_all_bidirectional_memcpy_ce, the rows D2H to its all_to_host_bidirectional_memcpy_ce, which " +
  "times one of these flows at a time and gives the others twice its bytes: one more than twice as fast ends early";

/**
 * Rows by size, workers and kind of memory, for each a row of figures and one of their shares of the rate alone; for
 * both directions, such a pair for each direction and for the sum. A column for each device, and for throughput one for
 * the sum.
 */
export function togetherGrid(group: CellGroup, { precision, aloneOf }: GridContext): Grid {
  const { direction, mode, memories, rows } = group;
  const ordinals = rows[0]?.members[0]?.together ?? [];
  const isThroughput = mode === "throughput";
  const columns = [
    ...labelColumns,
    wordColumn("memory"),
    wordColumn(""),
    ...ordinals.map((ordinal) => numberColumn("device", String(ordinal))),
    ...(isThroughput ? [numberColumn("sum")] : []),
  ];
  const rowsOfMemory = (row: GroupRow, memory: CellResult["memory"]): Figure[][] => {
    const ofMemory = row.members.filter((cell) => cell.memory === memory);
    const cells = ordinals.map((ordinal) => ofMemory.find(({ device }) => device === ordinal));
    const alone = cells.map((cell) => cell && aloneOf(cell));
    const labels = [...rowLabels(row), figure(memory)];
    return movedIn(direction, mode).flatMap((moved) => {
      const [sumGBps, aloneGBps] = [sumOfRates(cells, moved), sumOfRates(alone, moved)];
      const share = sumGBps === null || aloneGBps === null ? null : sumGBps / aloneGBps;
      const name = direction === "bidir" ? directionName[moved] : isThroughput ? "at once" : "median";
      return [
        [
          ...labels,
          figure(name),
          ...cells.map((cell) => medianFigure(cell, moved, precision)),
          ...(isThroughput ? [sumGBps === null ? absentFigure : figure(formatGBps(sumGBps))] : []),
        ],
        [
          ...labels,
          figure("of alone"),
          ...cells.map((cell, i) => shareFigure(shareOfSpeed(cell, alone[i], moved))),
          ...(isThroughput ? [shareFigure(share)] : []),
        ],
      ];
    });
  };
  const filled = rows.flatMap((row) =>
    memories.filter((memory) => row.cells.has(memory)).flatMap((memory) => rowsOfMemory(row, memory)),
  );
  const footnote = direction === "bidir" && isThroughput ? bothWaysNote : ofAloneNote;
  return { columns, rows: filled, labels: 4, footnote };
}

/** The directions in which such a cell has figures. */
export function movedIn(
  direction: CellResult["direction"],
  mode: CellResult["mode"],
): CellStats["direction"][] {
  if (direction !== "bidir") return [direction];
  return mode === "latency" ? ["h2d", "d2h"] : ["h2d", "d2h", "sum"];
}

/** Sum of the cells' medians in GB/s; null if one is missing. */
export function sumOfRates(
  cells: readonly (CellResult | undefined)[],
  moved: CellStats["direction"],
): number | null {
  const rates = cells.flatMap((cell) => measuredStats(cell, moved)?.bandwidthGBps.median ?? []);
  return rates.length < cells.length ? null : sumOf(rates);
}

const pathsNote =
  "rows from, columns to; every byte counts once. write: the source's copy engine, read: the destination's, through-host: " +
  "the driver's way without peer access, kernel-write and kernel-read: a kernel on the source or on the destination";

/** A matrix for each path, below each other: rows are the sources, columns the destinations. */
export function peerGrid({ rows }: CellGroup, { precision }: GridContext): Grid {
  const members = rows.flatMap((row) => row.members);
  const ordinals = [...new Set(members.flatMap(({ device, peer }) => [device, peer ?? device]))].sort(
    (a, b) => a - b,
  );
  const columns = [
    wordColumn("path"),
    numberColumn("from"),
    ...ordinals.map((ordinal) => numberColumn("to", String(ordinal))),
  ];
  const filled = peerPaths.flatMap((path) => {
    const ofPath = members.filter((cell) => cell.path === path);
    const sources = ordinals.filter((ordinal) => ofPath.some(({ device }) => device === ordinal));
    return sources.map((from) => [
      figure(path),
      figure(String(from)),
      ...ordinals.map((to) => {
        const cell = ofPath.find(({ device, peer }) => device === from && peer === to);
        return cell === undefined ? blank : medianFigure(cell, "p2p", precision);
      }),
    ]);
  });
  return { columns, rows: filled, labels: 2, footnote: pathsNote };
}

const nodesNote =
  "rows by device, memory and the node of the CPUs; columns by the node of the memory. sysfs: the node that the system names";

/** Rows by device, kind of memory and the CPUs' node, alone and at once; a column for the memory of each node. */
export function nodeGrid({ direction, mode, rows }: CellGroup, { precision, devices }: GridContext): Grid {
  const members = rows.flatMap((row) => row.members) as PlacedCell[];
  const nodes = ascending(members.map(({ memoryNode }) => memoryNode));
  const columns = [
    numberColumn("device"),
    wordColumn("sysfs"),
    wordColumn("memory"),
    wordColumn("CPUs"),
    wordColumn(""),
    ...nodes.map((node) => numberColumn("node", String(node))),
  ];
  const touched = (memory: CellResult["memory"]) => memory === "pageable" || memory === "staged";
  const lines = groupBy(members, ({ device, memory, cpuNode, together }) =>
    [device, memory, touched(memory) ? cpuNode : "", together === undefined ? 0 : 1].join("/"),
  );
  const ordered = [...lines.values()].toSorted(
    ([a], [b]) =>
      a!.device - b!.device ||
      memories.indexOf(a!.memory) - memories.indexOf(b!.memory) ||
      (touched(a!.memory) ? a!.cpuNode - b!.cpuNode : 0) ||
      Number(a!.together !== undefined) - Number(b!.together !== undefined),
  );
  const filled = ordered.flatMap((cells) =>
    movedIn(direction, mode).map((moved): Figure[] => {
      const [{ device, memory, cpuNode, together }] = cells as [PlacedCell];
      const sysfs = devices.find(({ ordinal }) => ordinal === device)?.numaNode;
      return [
        figure(String(device)),
        figure(sysfs == null ? "-" : `node ${sysfs}`),
        figure(memory),
        figure(touched(memory) ? `node ${cpuNode}` : "nearest"),
        figure(
          [together === undefined ? "alone" : "at once", ...(moved === direction ? [] : [moved])].join(" "),
        ),
        ...nodes.map((node) => {
          const cell = cells.find(({ memoryNode }) => memoryNode === node);
          return cell === undefined ? absentFigure : medianFigure(cell, moved, precision);
        }),
      ];
    }),
  );
  const isKey = (row: readonly Figure[]) => row[3]!.text === "nearest";
  const keyRows = filled.flatMap((row, i) => (isKey(row) ? [i] : []));
  return {
    columns,
    rows: filled,
    labels: 5,
    footnote: nodesNote,
    ...(keyRows.length === 0 ? {} : { keyRows, coreRows: keyRows }),
  };
}
