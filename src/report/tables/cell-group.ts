import { formatGBps } from "../../draw/numbers.js";
import { type Column, type Figure, figure, groupBy, numberColumn } from "../../draw/report.js";
import { counted, listed } from "../../draw/words.js";
import { parseCellId } from "../../results/cell-id.js";
import type { CellResult } from "../../results/cell-schema.js";
import { measuredStats } from "../../results/naming/cell-figure.js";
import { besideName, directionName, directionTitle } from "../../results/naming/wording.js";
import type { DeviceRecord, ResultDocument } from "../../results/schema.js";
import { type Variant, variantOf, variants } from "../../results/variant.js";
import { besides, caches, directions, memories, modes, workerKinds } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";

/** The cells of one table. Those of a plain table differ only in kind of memory, size and workers. */
export interface CellGroup {
  variant: Variant;
  /** In tables of several devices, the first. */
  device: DeviceRecord;
  direction: CellResult["direction"];
  mode: CellResult["mode"];
  /** Distinguishes the table from others; common properties of the whole document are left out. */
  title: string;
  memories: CellResult["memory"][];
  rows: GroupRow[];
  /** For blocks: the title of the table with the cost of each. */
  costTitle?: string;
  /** What the controls of host memory show for these cells; absent without any. */
  footnote?: string;
}

/** A row of a table: the cells with one size, number and kind of workers, by kind of memory. */
export interface GroupRow {
  sizeBytes: number;
  workers: number;
  workerKind: CellResult["workerKind"];
  /** The cells of a plain table by memory kind. */
  cells: Map<CellResult["memory"], CellResult>;
  /** All cells of the row, including those of other devices, paths or chunk counts. */
  members: CellResult[];
}

/** The context of a result's tables. */
export interface GridContext {
  /** The requested precision of the run, as a relative half-width. */
  precision: number;
  devices: readonly DeviceRecord[];
  /** The cell with the rate of another one alone; undefined if it was not planned. */
  aloneOf: (cell: CellResult) => CellResult | undefined;
}

/** The columns that name a row. */
export const labelColumns: readonly Column[] = [numberColumn("size"), numberColumn("workers")];

/** The entries of the label columns; workers are threads unless noted. */
export function rowLabels({ sizeBytes, workers, workerKind }: Omit<GroupRow, "cells" | "members">): Figure[] {
  const kind = workerKind === "process" ? (workers === 1 ? "process" : "processes") : "";
  return [figure(formatSize(sizeBytes)), figure(String(workers), kind)];
}

/**
 * The cells of a result by table, without controls of host memory, in the order of device, direction, mode and cache; those during a load, in chunks and in blocks follow the plain ones that they are compared with, and tables of
 * several devices come last. The rows of each are sorted by size, then workers, then their kind.
 */
export function groupCells(document: ResultDocument): CellGroup[] {
  const { devices } = document;
  const cells = cellsAskedFor(document);
  const titleOf = titles(document, cells);
  const tables = groupBy([...cells].sort(byTable), (cell) => tableKey(cell).join("/"));
  return [...tables.values()].flatMap((members) => {
    const [first] = members as [CellResult];
    const device = devices.find(({ ordinal }) => ordinal === first.device);
    if (device === undefined) return [];
    const { direction, mode } = first;
    const variant = variantOf(first);
    const present = memories.filter((memory) => members.some((cell) => cell.memory === memory));
    const footnote = variant === "plain" ? hostControlLine(document, first) : undefined;
    const title = titleOf(first, unitOf(first));
    const costTitle = variant === "blocks" ? { costTitle: titleOf(first, "what a block takes") } : {};
    const rows = rowsOf(members);
    const group = { variant, device, direction, mode, title, memories: present, rows, ...costTitle };
    return [footnote === undefined ? group : { ...group, footnote }];
  });
}

/** The unit of a table's figures. Tables of blocks have one figure for both directions at once. */
function unitOf({ direction, chunks, mode, blockBytes, beside }: CellResult): string {
  if (blockBytes !== undefined && beside === undefined && direction === "bidir") return "GB/s, the sum";
  return chunks !== undefined ? "ms a batch" : mode === "latency" ? "latency in µs" : "GB/s";
}

function titles(document: ResultDocument, cells: readonly CellResult[]) {
  const isVaried = (key: "cache" | "workers", some = cells) =>
    new Set(some.map((cell) => cell[key])).size > 1;
  const [variesCache, variesWorkers] = [isVaried("cache"), isVaried("workers")];
  const peerCells = cells.filter(({ direction }) => direction === "p2p");
  const variesPeerWorkers = isVaried("workers", peerCells);
  return (first: CellResult, unit: string): string => {
    const { device, direction, cache, sizeBytes, workers, together, beside, chunks } = first;
    const variant = variantOf(first);
    const subject = directionTitle[direction] + (beside === undefined ? "" : ` beside ${besideName[beside]}`);
    const ofDevice = document.devices.length > 1 ? `Device ${device}: ` : "";
    const ofAll = together === undefined ? "" : `Devices ${listed(together.map(String))} at once: `;
    return [
      (variant === "together" ? ofAll : variant === "p2p" || variant === "numa" ? "" : ofDevice) + subject,
      ...(chunks === undefined ? [] : ["in chunks with a kernel behind each"]),
      ...(variant === "blocks" || variant === "blocks-beside" ? ["in scattered blocks"] : []),
      ...(variant === "numa" ? ["by NUMA node of the memory"] : []),
      ...(variant === "p2p" || variant === "numa" ? [formatSize(sizeBytes)] : []),
      ...((variant === "p2p" && variesPeerWorkers) || (variant === "numa" && variesWorkers)
        ? [counted(workers, "worker")]
        : []),
      unit,
      ...(variesCache ? [`${cache} cache`] : []),
    ].join(", ");
  };
}

function rowsOf(members: readonly CellResult[]): GroupRow[] {
  const rows = [
    ...groupBy(
      members,
      ({ sizeBytes, workers, workerKind }) => `${sizeBytes}/${workers}/${workerKind}`,
    ).values(),
  ];
  return rows
    .map((cells) => {
      const { sizeBytes, workers, workerKind } = cells[0]!;
      const byMemory = new Map(cells.map((cell) => [cell.memory, cell]));
      return { sizeBytes, workers, workerKind, cells: byMemory, members: cells };
    })
    .sort(
      (a, b) =>
        a.sizeBytes - b.sizeBytes ||
        a.workers - b.workers ||
        workerKinds.indexOf(a.workerKind) - workerKinds.indexOf(b.workerKind),
    );
}

/**
 * The common properties of a table's cells, in the order of tables: numbers, except for the devices that copy together.
 */
function tableKey(cell: CellResult): (number | string)[] {
  const variant = variantOf(cell);
  const ofSeveral = variant === "together" || variant === "p2p" || variant === "numa";
  const [place, device] = ofSeveral ? [variants.indexOf(variant), 0] : [0, cell.device];
  return [
    place,
    device,
    directions.indexOf(cell.direction),
    modes.indexOf(cell.mode),
    caches.indexOf(cell.cache),
    variants.indexOf(variant),
    cell.beside === undefined ? 0 : besides.indexOf(cell.beside),
    ...(variant === "p2p" || variant === "numa" ? [cell.sizeBytes, cell.workers] : []),
    variant === "numa" ? "" : (cell.together?.join("-") ?? ""),
  ];
}

function byTable(a: CellResult, b: CellResult): number {
  const [ofA, ofB] = [tableKey(a), tableKey(b)];
  const differing = ofA.findIndex((part, i) => part !== ofB[i]);
  if (differing < 0) return 0;
  const [one, other] = [ofA[differing]!, ofB[differing]!];
  return typeof one === "number" && typeof other === "number"
    ? one - other
    : String(one).localeCompare(String(other));
}

/**
 * The cells in tables: all except the controls of host memory that were not requested by `--memory host` or by their
 * ids.
 */
export function cellsAskedFor({ cells, plan }: ResultDocument): CellResult[] {
  const { memory, cells: ids } = plan?.settings ?? {};
  const wasAsked = memory?.includes("host") || ids?.some((id) => parseCellId(id).memory === "host");
  return wasAsked ? cells : cells.filter((cell) => cell.memory !== "host");
}

/** The table that a line belongs to. */
type Table = Pick<CellResult, "device" | "direction" | "mode" | "cache">;

/**
 * What the controls of a table's cells show, in one line: "host memory, the CPU's own copies: 12.3 GB/s with 1 worker,
 * 31.0 with 4 (64 MiB)"; undefined without controls, or if the table itself shows them.
 */
function hostControlLine(document: ResultDocument, table: Table): string | undefined {
  const shown = new Set(cellsAskedFor(document));
  const controls = document.cells.filter(
    (cell) =>
      cell.memory === "host" &&
      !shown.has(cell) &&
      (["device", "mode", "cache"] as const).every((key) => cell[key] === table[key]),
  );
  const clauses = (["h2d", "d2h"] as const).flatMap((direction) => {
    if (table.direction !== "bidir" && table.direction !== direction) return [];
    const figures = describe(
      controls.filter((cell) => cell.direction === direction),
      direction,
    );
    if (figures === null) return [];
    return table.direction === "bidir" ? [`${directionName[direction]} ${figures}`] : [figures];
  });
  return clauses.length === 0 ? undefined : `host memory, the CPU's own copies: ${clauses.join("; ")}`;
}

/** Null if none has a figure. The unit appears once, and so does the size if it is the same. */
function describe(controls: readonly CellResult[], direction: "h2d" | "d2h"): string | null {
  const measured = controls
    .flatMap((cell) => {
      const stats = measuredStats(cell, direction);
      return stats === null ? [] : [{ ...cell, rate: formatGBps(stats.bandwidthGBps.median) }];
    })
    .sort((a, b) => a.workers - b.workers);
  if (measured.length === 0) return null;
  const sizes = new Set(measured.map(({ sizeBytes }) => sizeBytes));
  const figures = measured.map(({ rate, workers, sizeBytes }, i) => {
    const size = sizes.size > 1 || i === measured.length - 1 ? ` (${formatSize(sizeBytes)})` : "";
    return i === 0
      ? `${rate} GB/s with ${counted(workers, "worker")}${size}`
      : `${rate} with ${workers}${size}`;
  });
  return figures.join(", ");
}
