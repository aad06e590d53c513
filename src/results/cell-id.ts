import { PinbenchError } from "../errors.js";
import {
  type Beside,
  type BlockWay,
  besides,
  blockWays,
  type Cache,
  caches,
  type Direction,
  directions,
  type Memory,
  type Mode,
  memories,
  modes,
  nearestWord,
  type PeerPath,
  peerPaths,
  type Timer,
  timers,
} from "../settings/choices.js";
import { parseSize } from "../settings/units.js";
import type { Cell } from "./cell-schema.js";

/**
 * The cell's id, such as `d0/h2d/pinned/16777216/w4/throughput/wall/cold`, by which results are compared. Variants add
 * to it: `…/process`, `…/together-0-1`, `…/to-1/read`, `…/beside-compute`, `…/chunks-4`, `…/blocks-4096-loop`,
 * `…/blocks-4096-kernel-sms-8`.
 */
export function cellId(cell: Cell): string {
  const { workerKind, together, peer, path, beside, chunks, blockBytes, blockWay, blockSms } = cell;
  return [
    `d${cell.device}`,
    cell.direction,
    cell.memory,
    cell.sizeBytes,
    `w${cell.workers}`,
    cell.mode,
    cell.timer,
    cell.cache,
    ...(workerKind === "process" ? [workerKind] : []),
    ...(together === undefined ? [] : [`together-${together.join("-")}`]),
    ...(peer === undefined ? [] : [`to-${peer}`, path]),
    ...(beside === undefined ? [] : [`beside-${beside}`]),
    ...(chunks === undefined ? [] : [`chunks-${chunks}`]),
    ...(blockBytes === undefined
      ? []
      : [`blocks-${blockBytes}-${blockWay}${blockSms === undefined ? "" : `-sms-${blockSms}`}`]),
  ].join("/");
}

const oneOf = (values: readonly string[]) => `(${values.join("|")})`;
// Without leading zeros, so that a cell has one id. Numbers with more digits are not exact.
const number = "(0|[1-9]\\d{0,15})";
const plainForm = `d${number}/${oneOf(directions)}/${oneOf(memories)}/${number}/w${number}/${oneOf(modes)}/${oneOf(timers)}/${oneOf(caches)}`;
const loads = besides.filter((beside) => beside !== "none");
const idForm = new RegExp(
  `^${plainForm}(/process)?(?:/together((?:-(?:0|[1-9]\\d{0,2}))+))?(?:/to-${number}/${oneOf(peerPaths)})?(?:/beside-${oneOf(loads)})?(?:/chunks-${number})?(?:/blocks-${number}-${oneOf(blockWays)}(?:-sms-${number})?)?$`,
);

/**
 * The cell of an id from cellId(). Throws a usage error for any other text; the plan checks whether the numbers make
 * sense.
 */
export function parseCellId(text: string): Cell {
  const match = idForm.exec(text);
  if (match === null) {
    throw new PinbenchError("usage", `"${text}" is not a cell id.`, {
      hint: hintOfId(text),
    });
  }
  const [, device, direction, memory, sizeBytes, workers, mode, timer, cache] = match;
  const [process, together, peer, path, beside, chunks, blockBytes, blockWay, blockSms] = match.slice(9);
  return {
    device: Number(device),
    direction: direction as Direction,
    memory: memory as Memory,
    sizeBytes: Number(sizeBytes),
    workers: Number(workers),
    mode: mode as Mode,
    timer: timer as Timer,
    cache: cache as Cache,
    ...(process !== undefined && { workerKind: "process" }),
    ...(together !== undefined && { together: together.slice(1).split("-").map(Number) }),
    ...(peer !== undefined && { peer: Number(peer), path: path as PeerPath }),
    ...(beside !== undefined && { beside: beside as Exclude<Beside, "none"> }),
    ...(chunks !== undefined && { chunks: Number(chunks) }),
    ...(blockBytes !== undefined && { blockBytes: Number(blockBytes), blockWay: blockWay as BlockWay }),
    ...(blockSms !== undefined && { blockSms: Number(blockSms) }),
  };
}

/** Corrections for each part of a plain id; null if its meaning cannot be guessed. */
const repairs: readonly ((part: string) => string | null)[] = [
  (part) => part.replace(/^(?:d|dev|device|gpu)?-?(\d{1,4})$/i, "d$1"),
  (part) => nearestWord(part, directions),
  (part) => nearestWord(part, memories),
  bytesOf,
  (part) => part.replace(/^[wx]?(\d{1,4})$/i, "w$1"),
  (part) => nearestWord(part, modes),
  (part) => nearestWord(part, timers),
  (part) => nearestWord(part, caches),
];

/** The usual end of an id: the defaults of mode, timer and cache. */
const usualEnd = ["throughput", "wall", "cold"];

function hintOfId(text: string): string {
  const example =
    "Write for example d0/h2d/pinned/16777216/w4/throughput/wall/cold; the cells of a JSON result have theirs.";
  if (text.includes("*")) return `--cells takes whole ids, not patterns. ${example}`;
  // The additions of variants are too diverse to guess.
  const given = text.split("/", repairs.length + 1);
  if (given.length < repairs.length - usualEnd.length || given.length > repairs.length) return example;
  const parts = [...given, ...usualEnd.slice(given.length - repairs.length + usualEnd.length)];
  const repaired = repairs.map((repair, i) => repair(parts[i]!)).join("/");
  if (!idForm.test(repaired)) return example;
  const hasUnit = bytesOf(given[3]!) !== given[3];
  return `Did you mean ${repaired}?${hasUnit ? " Ids have sizes in bytes." : ""}`;
}

/** Bytes of a size in any notation; null for other text. */
function bytesOf(text: string): string | null {
  try {
    return String(parseSize(text));
  } catch {
    return null;
  }
}
