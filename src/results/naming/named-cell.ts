import { PinbenchError } from "../../errors.js";
import { directions, memories, modes } from "../../settings/choices.js";
import { parseSize } from "../../settings/units.js";
import { cellId } from "../cell-id.js";

const hint = 'Name a direction, a memory and a size, and if needed workers: "h2d pinned 64MiB x4".';

export function idOfNamedCell(name: string): string {
  const words = name.toLowerCase().trim().split(/\s+/);
  const pick = <Word extends string>(from: readonly Word[]) => from.find((word) => words.includes(word));
  const workers = words.flatMap((word) => /^x([1-9]\d*)$/.exec(word)?.[1] ?? []);
  const [direction, memory, mode] = [pick(directions), pick(memories), pick(modes)];
  const sizes = words.filter((word) => /^\d/.test(word));
  const known = [direction, memory, mode].filter((word) => word !== undefined).length;
  const isWhole = known + workers.length + sizes.length === words.length;
  const [size] = sizes;
  if (!isWhole || direction === undefined || size === undefined || sizes.length > 1 || workers.length > 1) {
    throw new PinbenchError("usage", `"${name}" names no cell.`, { hint });
  }
  const isOnDevice = direction === "d2d";
  if (!isOnDevice && memory === undefined) {
    throw new PinbenchError("usage", `"${name}" names no memory.`, { hint });
  }
  return cellId({
    device: 0,
    direction,
    memory: isOnDevice ? "device" : memory!,
    sizeBytes: parseSize(size),
    workers: Number(workers[0] ?? 1),
    mode: mode ?? "throughput",
    cache: "cold",
    workerKind: "thread",
  });
}
