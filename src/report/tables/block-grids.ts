import { formatNanoseconds, roundDown } from "../../draw/numbers.js";
import {
  blank,
  type Column,
  type Figure,
  figure,
  type Grid,
  groupBy,
  numberColumn,
  wordColumn,
} from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import { type BlockCutoffs, coarseBytes } from "../../results/cutoffs/cutoff-schema.js";
import {
  absentFigure,
  isMeasured,
  measuredStats,
  medianFigure,
  wholeOf,
} from "../../results/naming/cell-figure.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { type BlockWay, blockWays, inOrder } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import type { CellGroup, GridContext } from "./cell-group.js";

/** The cells of one kind of blocks, number of workers and kind of memory, by way. */
interface BlockRow {
  labels: Figure[];
  first: CellResult;
  members: readonly CellResult[];
}

/**
 * Two tables of copies in scattered blocks, with a column for each way: the rates, next to that of the same bytes in
 * one piece; and the costs of a block: blocks copied per second, and CPU time per block. Rows by block size, count,
 * workers and kind of memory.
 */
export function blockGrids(group: CellGroup, { precision, aloneOf }: GridContext): Grid[] {
  const rows = rowsOf(group);
  const ways = waysOf(rows);
  const columns = ways.map((way) => numberColumn(way));
  const labels = labelColumns(rows);
  const { costTitle } = group;
  const direction = wholeOf(group.direction);
  const rates: Grid = {
    columns: [...labels, numberColumn("one", "piece"), ...columns],
    rows: rows.map(({ labels, first, members }) => [
      ...labels,
      medianFigure(aloneOf(first), direction, precision),
      ...ways.map((way) => medianFigure(cellOf(members, way), direction, precision)),
    ]),
    labels: labels.length,
    footnote: ratesNote,
  };
  // The costs of a block hardly depend on the number of blocks, which the table above shows.
  const variesCount = variesBlockCount(rows.map(({ first }) => first));
  const withoutCount = <Value>(labels: readonly Value[]) => labels.filter((_, i) => i !== 1 || variesCount);
  const costs: Grid = {
    ...(costTitle !== undefined && { caption: costTitle }),
    columns: [...withoutCount(labels), wordColumn(""), ...columns],
    rows: rows.flatMap(({ labels, members }) => {
      const cells = ways.map((way) => cellOf(members, way));
      return [
        [...withoutCount(labels), figure("blocks/ms"), ...cells.map((cell) => blockRate(cell, direction))],
        [...withoutCount(labels), figure("host ns"), ...cells.map(hostTime)],
      ];
    }),
    labels: withoutCount(labels).length + 1,
    footnote: costsNote,
  };
  return [rates, costs];
}

const ratesNote =
  "blocks lie at shuffled places on both sides; one piece: the same bytes as one copy. loop: a driver call for each block; " +
  "batch: one call for all; kernel: a program on the GPU reads or writes the host's memory itself; " +
  "gather: the CPU collects blocks in pinned memory, and after the copy a kernel puts them in their places, or the other " +
  "way round";

const costsNote = "host ns: CPU time of a block, until the last call of its copy has returned";

export function variesBlockCount(cells: readonly CellResult[]): boolean {
  const kinds = new Set(cells.map(({ blockBytes, sizeBytes }) => `${blockBytes}/${sizeBytes}`));
  return kinds.size > new Set(cells.map(({ blockBytes }) => blockBytes)).size;
}

/** Workers are named only if their number varies. */
function labelColumns(rows: readonly BlockRow[]): Column[] {
  const head = [numberColumn("block"), numberColumn("count")];
  const hasWorkers = rows.some(({ labels }) => labels.length > 3);
  return [...head, ...(hasWorkers ? [numberColumn("workers")] : []), wordColumn("memory")];
}

function rowsOf({ rows, memories }: CellGroup): BlockRow[] {
  const members = rows.flatMap((row) => row.members);
  const hasWorkers = members.some(({ workers }) => workers > 1);
  const kinds = groupBy(members, ({ blockBytes, sizeBytes, workers, memory }) =>
    [blockBytes, sizeBytes, workers, memory].join("/"),
  );
  return [...kinds.values()]
    .sort(
      ([a], [b]) =>
        (a!.blockBytes ?? 0) - (b!.blockBytes ?? 0) ||
        a!.sizeBytes - b!.sizeBytes ||
        a!.workers - b!.workers ||
        memories.indexOf(a!.memory) - memories.indexOf(b!.memory),
    )
    .map((cells) => {
      const first = cells[0]!;
      const { blockBytes = 1, sizeBytes, workers, memory } = first;
      const labels = [
        figure(formatSize(blockBytes)),
        figure(String(sizeBytes / blockBytes)),
        ...(hasWorkers ? [figure(String(workers))] : []),
        figure(memory),
      ];
      return { labels, first, members: cells };
    });
}

/** The cells of a group one by one, for a table with a row for each way, and the columns of their labels. */
export function rowsOfWays(group: CellGroup): {
  columns: Column[];
  rows: { labels: Figure[]; cell: CellResult }[];
} {
  const rows = rowsOf(group);
  const ways = waysOf(rows);
  return {
    columns: [...labelColumns(rows), wordColumn("way")],
    rows: rows.flatMap(({ labels, members }) =>
      ways.flatMap((way) => {
        const cell = cellOf(members, way);
        return cell === undefined ? [] : [{ labels: [...labels, figure(way)], cell }];
      }),
    ),
  };
}

/** The ways of the plan, in order. */
function waysOf(rows: readonly BlockRow[]): BlockWay[] {
  const ways = rows.flatMap((row) => row.members).flatMap(({ blockWay }) => blockWay ?? []);
  return inOrder(blockWays, ways);
}

function cellOf(members: readonly CellResult[], way: BlockWay): CellResult | undefined {
  return members.find(({ blockWay }) => blockWay === way);
}

function blockRate(cell: CellResult | undefined, direction: CellStats["direction"]): Figure {
  if (cell === undefined) return blank;
  const rate = measuredStats(cell, direction)?.bandwidthGBps.median;
  if (rate === undefined || cell.blockBytes === undefined) return absentFigure;
  const blocksPerMs = (rate * 1e6) / cell.blockBytes;
  return figure(roundDown(blocksPerMs, blocksPerMs >= 100 ? 0 : blocksPerMs >= 10 ? 1 : 2));
}

function hostTime(cell: CellResult | undefined): Figure {
  if (cell === undefined) return blank;
  const time = isMeasured(cell) ? cell.hostNsPerBlock?.median : undefined;
  return time === undefined ? absentFigure : figure(formatNanoseconds(time));
}

/**
 * The result of `--blocks auto`: a table for each device, direction, kind of memory and number of workers, with a row
 * for each measured size and a column for each number of blocks; the last row has the sizes at which the best way
 * changes.
 */
export function cutoffGrids({ blockCutoffs, devices }: ResultDocument): (Grid & { caption: string })[] {
  const tables = groupBy(blockCutoffs ?? [], ({ device, direction, memory, workers }) =>
    [device, direction, memory, workers].join("/"),
  );
  const isVaried = (key: "memory" | "workers") =>
    new Set((blockCutoffs ?? []).map((column) => column[key])).size > 1;
  return [...tables.values()].map((columns, table) => {
    const [{ device, direction, memory, workers }] = columns as [BlockCutoffs];
    const caption = [
      (devices.length > 1 ? `Device ${device}: ` : "") + directionTitle[direction],
      ...(isVaried("memory") ? [memory] : []),
      ...(isVaried("workers") ? [counted(workers, "worker")] : []),
      "fastest way by block size and number of blocks",
    ].join(", ");
    return { caption, ...gridOf(columns), ...(table === 0 && { footnote: note }) };
  });
}

function gridOf(columns: readonly BlockCutoffs[]): Grid {
  const sizes = [...new Set(columns.flatMap((column) => column.sizes.map(({ blockBytes }) => blockBytes)))];
  sizes.sort((a, b) => a - b);
  const ends = columns.flatMap(({ cutoffs }) =>
    cutoffs.flatMap(({ leastBytes, mostBytes }) => [leastBytes, mostBytes]),
  );
  const isKey = (bytes: number) => coarseBytes.includes(bytes) || ends.includes(bytes);
  return {
    columns: [
      numberColumn("block"),
      ...columns.map(({ blockCount }) =>
        wordColumn(String(blockCount), blockCount === 1 ? "block" : "blocks"),
      ),
    ],
    rows: [
      ...sizes.map((bytes) => [figure(formatSize(bytes)), ...columns.map((column) => wayAt(column, bytes))]),
      [figure("cut-off"), ...columns.map(cutoffFigure)],
    ],
    keyRows: [...sizes.flatMap((bytes, row) => (isKey(bytes) ? [row] : [])), sizes.length],
  };
}

const note =
  "only sizes that decide are measured. In brackets: no way is faster by 2 % or more for certain, in other processes too; " +
  "copy engine (loop, batch), kernel and CPU (gather) count as one way each. cut-off: the last size of one way and " +
  "the first one of the next";

function wayAt({ sizes }: BlockCutoffs, bytes: number): Figure {
  const size = sizes.find(({ blockBytes }) => blockBytes === bytes);
  if (size === undefined) return blank;
  const text = size.fastest;
  return size.isCertain ? figure(text) : figure(`(${text})`, "", "muted");
}

function cutoffFigure({ cutoffs }: BlockCutoffs): Figure {
  if (cutoffs.length === 0) return absentFigure;
  return figure(
    cutoffs
      .map(({ leastBytes, mostBytes }) => `${formatSize(leastBytes)} to ${formatSize(mostBytes)}`)
      .join("; "),
  );
}
