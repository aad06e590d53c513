import type { Cache, Direction, Memory, Mode, Timer } from "../native/contract.js";

/** One thing to measure. Its id names all of its parameters, for it is what a baseline joins on. */
export interface Cell {
  device: number;
  direction: Direction;
  memory: Memory;
  /** Bytes of one copy; each worker copies buffers of this size. */
  sizeBytes: number;
  /** Threads, each with a stream and buffers of its own; for bidir so many a direction. */
  workers: number;
  mode: Mode;
  timer: Timer;
  cache: Cache;
}

/** For example `d0/h2d/pinned/16777216/w4/throughput/wall/cold`. */
export function cellId(cell: Cell): string {
  return [
    `d${cell.device}`,
    cell.direction,
    cell.memory,
    cell.sizeBytes,
    `w${cell.workers}`,
    cell.mode,
    cell.timer,
    cell.cache,
  ].join("/");
}
