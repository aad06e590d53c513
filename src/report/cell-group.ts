import type { CellResult, DeviceRecord, ResultDocument } from "../results/schema.js";
import { caches, directions, memories, modes, timers } from "../settings/choices.js";
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
}

/** A row of a table: the cells of one size and number of workers, by memory kind. */
export interface GroupRow {
  sizeBytes: number;
  workers: number;
  cells: Map<CellResult["memory"], CellResult>;
}

/**
 * The cells of a result by table, in the order of device, direction, mode, timer and cache; the rows of each by size,
 * then workers.
 */
export function groupCells(document: ResultDocument): CellGroup[] {
  const { cells } = document;
  const varied = {
    device: document.devices.length > 1,
    timer: distinctCount(cells, (cell) => cell.timer) > 1,
    cache: distinctCount(cells, (cell) => cell.cache) > 1,
  };
  const groups = new Map<string, CellResult[]>();
  for (const cell of [...cells].sort(byTable)) {
    const key = [cell.device, cell.direction, cell.mode, cell.timer, cell.cache].join("/");
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  return [...groups.values()].flatMap((members) => {
    const [first] = members;
    const device = document.devices.find(({ ordinal }) => ordinal === first?.device);
    return first === undefined || device === undefined ? [] : [groupOf(members, first, device, varied)];
  });
}

function groupOf(
  members: readonly CellResult[],
  first: CellResult,
  device: DeviceRecord,
  varied: { device: boolean; timer: boolean; cache: boolean },
): CellGroup {
  const title = [
    varied.device
      ? `Device ${device.ordinal}: ${directionTitle[first.direction]}`
      : directionTitle[first.direction],
    first.mode === "latency" ? "latency in µs" : "GB/s",
    varied.timer ? (first.timer === "event" ? "event timer" : "wall clock") : null,
    varied.cache ? `${first.cache} cache` : null,
  ];
  return {
    device,
    direction: first.direction,
    mode: first.mode,
    title: title.filter((part) => part !== null).join(", "),
    memories: memories.filter((memory) => members.some((cell) => cell.memory === memory)),
    rows: rowsOf(members),
  };
}

function rowsOf(members: readonly CellResult[]): GroupRow[] {
  const rows = new Map<string, GroupRow>();
  for (const cell of members) {
    const { sizeBytes, workers } = cell;
    const key = `${sizeBytes}/${workers}`;
    const row: GroupRow = rows.get(key) ?? { sizeBytes, workers, cells: new Map() };
    row.cells.set(cell.memory, cell);
    rows.set(key, row);
  }
  return [...rows.values()].sort((a, b) => a.sizeBytes - b.sizeBytes || a.workers - b.workers);
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

function distinctCount(cells: readonly CellResult[], of: (cell: CellResult) => string): number {
  return new Set(cells.map(of)).size;
}
