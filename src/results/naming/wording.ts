import { counted, listed } from "../../draw/words.js";
import type { Beside, Direction } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { parseCellId } from "../cell-id.js";
import type { Cell, CellStats } from "../cell-schema.js";
import type { HostRecord, ResultDocument } from "../schema.js";

export const unitsNote = "GB/s is decimal (1e9 bytes), sizes are binary (1 KiB = 1024 bytes)";

export const directionTitle: Readonly<Record<Direction, string>> = {
  h2d: "Host to device (H2D)",
  d2h: "Device to host (D2H)",
  bidir: "Both directions at once",
  d2d: "Device to device (D2D), bytes read plus written",
  p2p: "Between devices (P2P)",
};

export const directionName: Readonly<Record<Direction | CellStats["direction"], string>> = {
  h2d: "H2D",
  d2h: "D2H",
  d2d: "D2D",
  p2p: "P2P",
  bidir: "both",
  sum: "sum",
};

export const besideName: Readonly<Record<Exclude<Beside, "none">, string>> = {
  compute: "arithmetic on the device",
  memory: "a load on the device's memory",
  host: "a load on the host's memory",
};

export function blocksText(sizeBytes: number, blockBytes: number): string {
  return `${sizeBytes / blockBytes} × ${formatSize(blockBytes)}`;
}

/** Number of usable CPUs, with the cgroup's quota (null without one). */
export function countedCpus(count: number, quota: number | null): string {
  return counted(count, "CPU") + (quota === null ? "" : ` (quota ${quota})`);
}

/** Where Linux runs, "in kvm and docker", as a list of facts; empty on bare metal. */
export function guestOf({ virtualization, container }: HostRecord): string[] {
  const around = [virtualization, container].filter((name) => name !== null);
  return around.length === 0 ? [] : [`in ${listed(around)}`];
}

export function pcieLink(generation: number | null, width: number | null): string {
  return `gen${generation} x${width}`;
}

/** The labels of a result in one line, "rack=7; row=b"; null without any. */
export function labelsLine({ run }: { run: Pick<ResultDocument["run"], "labels"> }): string | null {
  const entries = Object.entries(run.labels ?? {});
  return entries.length === 0 ? null : entries.map(([key, value]) => `${key}=${value}`).join("; ");
}

export type NameOfCell = (id: string, moved?: CellStats["direction"]) => string;

/**
 * Short unique names for the cells of a document: "H2D pinned 64 MiB", "H2D pinned 64 MiB x4" with 4 workers, "H2D+D2H
 * pinned 64 MiB (H2D)" for one direction of both. Omits properties that all share (device, cache, devices at once). A
 * text that is no id stays unchanged.
 */
export function cellNames(ids: Iterable<string>): NameOfCell {
  const cells = new Map([...ids].flatMap((id) => (isCellId(id) ? [[id, parseCellId(id)] as const] : [])));
  const varies = (of: (cell: Cell) => string | number | undefined) =>
    new Set([...cells.values()].flatMap((cell) => of(cell) ?? [])).size > 1;
  const varying: Varying = {
    device: varies(({ device }) => device),
    cache: varies(({ cache }) => cache),
    together: varies(({ together }) => together?.join("+")),
  };
  return (id, moved) => {
    const cell = cells.get(id);
    if (cell === undefined) return id;
    const parts = [...partsOf(cell, varying), directionOf(cell.direction, moved)];
    return parts.filter((part) => part !== "").join(" ");
  };
}

export function groupName(
  { direction, moved, kind }: { direction: Direction; moved: CellStats["direction"]; kind: string },
  device: number | null,
): string {
  const parts = [
    device === null ? "" : `d${device}`,
    nameOfDirection(direction),
    kind,
    directionOf(direction, moved),
  ];
  return parts.filter((part) => part !== "").join(" ");
}

const nameOfDirection = (direction: Direction) =>
  direction === "bidir" ? `${directionName.h2d}+${directionName.d2h}` : directionName[direction];

const directionOf = (direction: Direction, moved: CellStats["direction"] = "sum") =>
  direction === "bidir" && moved !== "sum" ? `(${directionName[moved]})` : "";

type Varying = Readonly<Record<"device" | "cache" | "together", boolean>>;

function partsOf(cell: Cell, varies: Varying): string[] {
  const { device, direction, memory, sizeBytes, workers, mode, cache } = cell;
  const { workerKind, together, peer, path, beside, chunks, blockBytes, blockWay, cpuNode, memoryNode } =
    cell;
  const isBetween = peer !== undefined;
  return [
    varies.device && !isBetween ? `d${device}` : "",
    nameOfDirection(direction),
    isBetween ? `${device}→${peer} ${path}` : "",
    memory === "device" ? "" : memory,
    blockBytes === undefined ? formatSize(sizeBytes) : blocksText(sizeBytes, blockBytes),
    workers === 1 ? "" : `x${workers}`,
    workerKind === "process" ? (workers === 1 ? "process" : "processes") : "",
    mode === "latency" ? mode : "",
    together === undefined ? "" : varies.together ? `together ${together.join("+")}` : "together",
    beside === undefined ? "" : `beside ${beside}`,
    chunks === undefined ? "" : `in ${counted(chunks, "chunk")}`,
    blockWay ?? "",
    memoryNode === undefined ? "" : `node ${memoryNode}`,
    cpuNode === memoryNode ? "" : `CPUs of ${cpuNode}`,
    varies.cache ? cache : "",
  ];
}

function isCellId(text: string): boolean {
  try {
    parseCellId(text);
    return true;
  } catch {
    return false;
  }
}
