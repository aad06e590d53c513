import { type Column, type Figure, figure, type Grid, numberColumn, wordColumn } from "../../draw/report.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import { directionName } from "../../results/naming/wording.js";
import { blockWays, directions, memories, peerPaths } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { groupBy } from "../../stats/group-by.js";

/* Tables of cells: some properties name a cell's row, another one its column. */

export interface Label {
  column: Column;
  of: (cell: CellResult) => Figure;
  rank: (cell: CellResult) => number;
}

const wordLabel = (head: string, of: (cell: CellResult) => string, rank: Label["rank"]): Label => ({
  column: wordColumn(head),
  of: (cell) => figure(of(cell)),
  rank,
});

const numberLabel = (
  head: string,
  rank: Label["rank"],
  format: (value: number) => string = String,
): Label => ({
  column: numberColumn(head),
  of: (cell) => figure(format(rank(cell))),
  rank,
});

const isProcess = ({ workerKind }: CellResult) => workerKind === "process";

/** A CPU accesses pageable memory, so the CPU's node matters. */
const isTouched = ({ memory }: CellResult) => memory === "pageable" || memory === "staged";

export const labels = {
  size: numberLabel("size", ({ sizeBytes }) => sizeBytes, formatSize),
  /** Number of threads, unless noted. */
  workers: {
    column: numberColumn("workers"),
    of: (cell) => figure(String(cell.workers), isProcess(cell) ? "as processes" : ""),
    rank: (cell) => 2 * cell.workers + Number(isProcess(cell)),
  },
  memory: wordLabel(
    "memory",
    ({ memory }) => memory,
    ({ memory }) => memories.indexOf(memory),
  ),
  block: numberLabel("block", ({ blockBytes = 0 }) => blockBytes, formatSize),
  count: numberLabel("count", ({ sizeBytes, blockBytes = 1 }) => sizeBytes / blockBytes),
  method: wordLabel(
    "method",
    ({ blockWay = "" }) => blockWay,
    (cell) => blockWays.indexOf(cell.blockWay!),
  ),
  path: wordLabel(
    "path",
    ({ path = "" }) => path,
    (cell) => peerPaths.indexOf(cell.path!),
  ),
  from: numberLabel("from", ({ device }) => device),
  device: numberLabel("device", ({ device }) => device),
  gpu: wordLabel(
    "",
    ({ device }) => `d${device}`,
    ({ device }) => device,
  ),
  direction: wordLabel(
    "",
    ({ direction }) => directionName[direction],
    (cell) => directions.indexOf(cell.direction),
  ),
  cpus: wordLabel(
    "CPUs",
    (cell) => (isTouched(cell) ? `node ${cell.cpuNode}` : "nearest"),
    (cell) => (isTouched(cell) ? cell.cpuNode! : 0),
  ),
  together: wordLabel(
    "",
    ({ together }) => (together === undefined ? "alone" : "at once"),
    ({ together }) => Number(together !== undefined),
  ),
} satisfies Record<string, Label>;

export interface Line {
  name?: string;
  figures: readonly Figure[];
}

/**
 * A table with a row per set of cells with equal labels, sorted by these. `linesOf` returns the lines for a set's
 * cells; `columns` are the columns of their figures.
 */
export function cellTable(
  cells: readonly CellResult[],
  rowLabels: readonly Label[],
  columns: readonly Column[],
  linesOf: (row: readonly CellResult[]) => readonly Line[],
): Grid {
  const named = (cell: CellResult) => rowLabels.map((label) => label.of(cell));
  const rows = [...groupBy(cells, (cell) => JSON.stringify(named(cell))).values()]
    .sort(([a], [b]) => rowLabels.map(({ rank }) => rank(a!) - rank(b!)).find((order) => order !== 0) ?? 0)
    .map((row) => ({ names: named(row[0]!), lines: linesOf(row) }));
  const hasNames = rows.some(({ lines }) => lines.some(({ name }) => name !== undefined));
  return {
    columns: [...rowLabels.map(({ column }) => column), ...(hasNames ? [wordColumn("")] : []), ...columns],
    rows: rows.flatMap(({ names, lines }) =>
      lines.map(({ name = "", figures }) => [...names, ...(hasNames ? [figure(name)] : []), ...figures]),
    ),
    labels: rowLabels.length + Number(hasNames),
  };
}

export function movedIn({
  direction,
  mode,
}: Pick<CellResult, "direction" | "mode">): CellStats["direction"][] {
  if (direction !== "bidir") return [direction];
  return mode === "latency" ? ["h2d", "d2h"] : ["h2d", "d2h", "sum"];
}

export function movedName(cell: CellResult, moved: CellStats["direction"]): { name?: string } {
  return cell.direction === "bidir" ? { name: directionName[moved] } : {};
}
