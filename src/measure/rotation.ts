import type { PlannedCell } from "../plan/cells.js";
import { arenaKind, strideBytes } from "../plan/geometry.js";

/**
 * Where in each arena the next visit starts. Cells of all sizes go on where the one before left off in the same memory:
 * if each kept a place of its own, a cell would find in the cache what another one had just copied there.
 */
export class Rotation {
  readonly #nextBytes = new Map<string, number>();

  /** The buffer of the cell's own rotation with which it starts. */
  firstBuffer(cell: PlannedCell): number {
    const next = this.#nextBytes.get(arenaOf(cell)) ?? 0;
    return Math.ceil(next / strideBytes(cell.sizeBytes)) % cell.buffersPerWorker;
  }

  /** To be told of every visit, with the copies that each worker made in it. */
  advance(cell: PlannedCell, firstBuffer: number, copies: number): void {
    const end = (firstBuffer + copies) % cell.buffersPerWorker;
    this.#nextBytes.set(arenaOf(cell), end * strideBytes(cell.sizeBytes));
  }
}

/** Each device's session has arenas of its own, and so have its worker processes. */
function arenaOf({ device, memory, workerKind }: PlannedCell): string {
  const kind = memory === "device" ? "device" : arenaKind(memory);
  return `${device}/${workerKind ?? "thread"}/${kind}`;
}
