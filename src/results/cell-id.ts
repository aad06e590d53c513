import { PinbenchError } from "../errors.js";
import {
  type Cache,
  caches,
  type Direction,
  directions,
  type Memory,
  type Mode,
  memories,
  modes,
  type Timer,
  timers,
} from "../settings/choices.js";
import type { Cell } from "./schema.js";

/** The cell's id, for example `d0/h2d/pinned/16777216/w4/throughput/wall/cold`: comparisons join on it. */
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

const oneOf = (values: readonly string[]) => `(${values.join("|")})`;
// Without leading zeros: a cell has one id. More digits are no number that could be told from its neighbours.
const number = "(0|[1-9]\\d{0,15})";
const idForm = new RegExp(
  `^d${number}/${oneOf(directions)}/${oneOf(memories)}/${number}/w${number}/${oneOf(modes)}/${oneOf(timers)}/${oneOf(caches)}$`,
);

/**
 * The cell that cellId() gave this id. Throws a usage error for any other text; whether the numbers make sense is for
 * the plan to say.
 */
export function parseCellId(text: string): Cell {
  const match = idForm.exec(text);
  if (match === null) {
    throw new PinbenchError("usage", `"${text}" is not a cell id.`, {
      hint: "Write for example d0/h2d/pinned/16777216/w4/throughput/wall/cold; the cells of a JSON result have theirs.",
    });
  }
  const [, device, direction, memory, sizeBytes, workers, mode, timer, cache] = match;
  return {
    device: Number(device),
    direction: direction as Direction,
    memory: memory as Memory,
    sizeBytes: Number(sizeBytes),
    workers: Number(workers),
    mode: mode as Mode,
    timer: timer as Timer,
    cache: cache as Cache,
  };
}
