import type { CellResult, DeviceRecord, ResultDocument } from "../results/schema.js";
import { caches, directions, memories, modes, timers, workerKinds } from "../settings/choices.js";
import { cellsAskedFor, hostControlLine } from "./host-control.js";
import { groupBy } from "./report-parts.js";
import { directionTitle } from "./wording.js";

/** The cells that one table shows: they differ in memory kind, size and workers alone. */
export interface CellGroup {
  device: DeviceRecord;
  direction: CellResult["direction"];
  mode: CellResult["mode"];
  /** Says which table this is; what is the same in the whole document is left out. */
  title: string;
  memories: CellResult["memory"][];
  rows: GroupRow[];
  /** What the controls of host memory show beside these cells; absent without any. */
  footnote?: string;
}

/** A row of a table: the cells of one size, number and kind of workers, by memory kind. */
export interface GroupRow {
  sizeBytes: number;
  workers: number;
  workerKind: CellResult["workerKind"];
  cells: Map<CellResult["memory"], CellResult>;
}

/**
 * The cells of a result by table, controls of host memory left out, in the order of device, direction, mode, timer and cache; the rows of each by size,
 * then workers, then their kind.
 */
export function groupCells(document: ResultDocument): CellGroup[] {
  const { devices } = document;
  const cells = cellsAskedFor(document);
  const isVaried = (key: "timer" | "cache") => new Set(cells.map((cell) => cell[key])).size > 1;
  const [variesTimer, variesCache] = [isVaried("timer"), isVaried("cache")];
  const tables = groupBy([...cells].sort(byTable), ({ device, direction, mode, timer, cache }) =>
    [device, direction, mode, timer, cache].join("/"),
  );
  return [...tables.values()].flatMap((members) => {
    const { device: ordinal, direction, mode, timer, cache } = members[0]!;
    const device = devices.find((one) => one.ordinal === ordinal);
    if (device === undefined) return [];
    const title = [
      `${devices.length > 1 ? `Device ${ordinal}: ` : ""}${directionTitle[direction]}`,
      mode === "latency" ? "latency in µs" : "GB/s",
      ...(variesTimer ? [timer === "event" ? "event timer" : "wall clock"] : []),
      ...(variesCache ? [`${cache} cache`] : []),
    ].join(", ");
    const present = memories.filter((memory) => members.some((cell) => cell.memory === memory));
    const footnote = hostControlLine(document, members[0]!);
    const group = { device, direction, mode, title, memories: present, rows: rowsOf(members) };
    return [footnote === undefined ? group : { ...group, footnote }];
  });
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
      return { sizeBytes, workers, workerKind, cells: new Map(cells.map((cell) => [cell.memory, cell])) };
    })
    .sort(
      (a, b) =>
        a.sizeBytes - b.sizeBytes ||
        a.workers - b.workers ||
        workerKinds.indexOf(a.workerKind) - workerKinds.indexOf(b.workerKind),
    );
}

function byTable(a: CellResult, b: CellResult): number {
  return (
    a.device - b.device ||
    directions.indexOf(a.direction) - directions.indexOf(b.direction) ||
    modes.indexOf(a.mode) - modes.indexOf(b.mode) ||
    timers.indexOf(a.timer) - timers.indexOf(b.timer) ||
    caches.indexOf(a.cache) - caches.indexOf(b.cache)
  );
}
