import { MiB } from "../settings/units.js";
import type { Cell } from "./cell-schema.js";
import { variantOf } from "./variant.js";

/** From this size on, time is proportional to bytes; references have no smaller copies. */
export const leastReferenceBytes = 32 * MiB;

export function isReferenceCell(cell: Cell): boolean {
  const { direction, memory, sizeBytes, workers, cache, workerKind } = cell;
  const isPlainCopy = (direction === "h2d" || direction === "d2h") && memory === "pinned";
  const variant = variantOf(cell);
  const isAlone = workerKind !== "process" && (variant === "plain" || variant === "together");
  return isPlainCopy && isAlone && workers === 1 && cache === "cold" && sizeBytes >= leastReferenceBytes;
}
