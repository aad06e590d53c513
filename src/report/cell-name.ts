import { parseCellId } from "../results/cell-id.js";
import type { Cell } from "../results/schema.js";
import { formatSize } from "../settings/units.js";
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
    return cell === undefined ? id : nameOf(cell, varying);
  };
}

/** Whether the cells differ in it. */
type Varying = Readonly<Record<"device" | "timer" | "cache" | "together", boolean>>;

function nameOf(cell: Cell, varies: Varying): string {
  const { device, direction, memory, sizeBytes, workers, mode, timer, cache } = cell;
  const { workerKind, together, peer, path, beside, chunks, blockBytes, blockWay, blockSms } = cell;
  const isBetween = peer !== undefined;
  return [
    ...(varies.device && !isBetween ? [`d${device}`] : []),
    direction === "bidir" ? `${directionName.h2d}+${directionName.d2h}` : directionName[direction],
    ...(isBetween ? [`${device}→${peer}`, path] : []),
    ...(memory === "device" ? [] : [memory]),
    blockBytes === undefined ? formatSize(sizeBytes) : blocksText(sizeBytes, blockBytes),
    `x${workers}`,
    ...(workerKind === "process" ? [workers === 1 ? "process" : "processes"] : []),
    ...(mode === "latency" ? [mode] : []),
    ...(together === undefined ? [] : [varies.together ? `together ${together.join("+")}` : "together"]),
    ...(beside === undefined ? [] : [`beside ${beside}`]),
    ...(chunks === undefined ? [] : [`in ${chunks} ${chunks === 1 ? "chunk" : "chunks"}`]),
    ...(blockWay === undefined ? [] : [blockWayText(blockWay, blockSms)]),
    ...(varies.timer ? [timer === "wall" ? "wall clock" : "event timer"] : []),
    ...(varies.cache ? [cache] : []),
  ].join(" ");
}

function isCellId(text: string): boolean {
  try {
    parseCellId(text);
    return true;
  } catch {
    return false;
  }
}
