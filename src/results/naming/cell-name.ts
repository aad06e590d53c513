import { formatSize } from "../../settings/units.js";
import { parseCellId } from "../cell-id.js";
import type { Cell } from "../cell-schema.js";
import { blocksText, blockWayText, directionName } from "./wording.js";

/** What a document calls the cell of an id. */
export type NameOfCell = (id: string) => string;

/**
 * Short names for the cells of one document, each of which has one of its own: "H2D pinned 64 MiB x4" for 4 workers. What
 * is the same in all of them (device, timer, cache, which devices are at it together) is left out. With `showsIds` the
 * ids themselves, which is also what a text gets that is no id.
 */
export function cellNames(ids: Iterable<string>, { showsIds }: { showsIds: boolean }): NameOfCell {
  if (showsIds) return (id) => id;
  const partsOf = cellNameParts(ids);
  return (id) => {
    const parts = partsOf(id);
    if (parts === null) return id;
    const { device, direction, memory, size, workers, variant } = parts;
    return [device, direction, memory, size, workers, variant].filter((part) => part !== "").join(" ");
  };
}

/** What the short name of a cell is made of, in this order; empty if it has no such part. */
export interface CellNameParts {
  device: string;
  direction: string;
  memory: string;
  size: string;
  workers: string;
  /** What sets it apart from a plain cell, "latency" among it. */
  variant: string;
}

/** The parts of `cellNames()`; null for a text that is no id. */
export function cellNameParts(ids: Iterable<string>): (id: string) => CellNameParts | null {
  const cells = new Map([...ids].flatMap((id) => (isCellId(id) ? [[id, parseCellId(id)] as const] : [])));
  const varies = (of: (cell: Cell) => string | number | undefined) =>
    new Set([...cells.values()].flatMap((cell) => of(cell) ?? [])).size > 1;
  const varying: Varying = {
    device: varies(({ device }) => device),
    timer: varies(({ timer }) => timer),
    cache: varies(({ cache }) => cache),
    together: varies(({ together }) => together?.join("+")),
  };
  return (id) => {
    const cell = cells.get(id);
    return cell === undefined ? null : partsOf(cell, varying);
  };
}

/** Whether the cells differ in it. */
type Varying = Readonly<Record<"device" | "timer" | "cache" | "together", boolean>>;

function partsOf(cell: Cell, varies: Varying): CellNameParts {
  const { device, direction, memory, sizeBytes, workers, mode, timer, cache } = cell;
  const { workerKind, together, peer, path, beside, chunks, blockBytes, blockWay, blockSms } = cell;
  const isBetween = peer !== undefined;
  const name = direction === "bidir" ? `${directionName.h2d}+${directionName.d2h}` : directionName[direction];
  return {
    device: varies.device && !isBetween ? `d${device}` : "",
    direction: [name, ...(isBetween ? [`${device}→${peer}`, path] : [])].join(" "),
    memory: memory === "device" ? "" : memory,
    size: blockBytes === undefined ? formatSize(sizeBytes) : blocksText(sizeBytes, blockBytes),
    workers: `x${workers}`,
    variant: [
      ...(workerKind === "process" ? [workers === 1 ? "process" : "processes"] : []),
      ...(mode === "latency" ? [mode] : []),
      ...(together === undefined ? [] : [varies.together ? `together ${together.join("+")}` : "together"]),
      ...(beside === undefined ? [] : [`beside ${beside}`]),
      ...(chunks === undefined ? [] : [`in ${chunks} ${chunks === 1 ? "chunk" : "chunks"}`]),
      ...(blockWay === undefined ? [] : [blockWayText(blockWay, blockSms)]),
      ...(varies.timer ? [timer === "wall" ? "wall clock" : "event timer"] : []),
      ...(varies.cache ? [cache] : []),
    ].join(" "),
  };
}

function isCellId(text: string): boolean {
  try {
    parseCellId(text);
    return true;
  } catch {
    return false;
  }
}
