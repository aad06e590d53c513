import { PinbenchError } from "../errors.js";
import { formatSize } from "../settings/units.js";
import type { ResolvedAxes } from "./axes.js";
import type { Excess } from "./limits.js";

/** What a choice of sizes and worker counts comes to; `excess` is null where it fits. */
export interface Draft {
  excess: Excess | null;
}

/**
 * The first draft that fits: everything, then without the preset's largest sizes, then without its largest worker
 * counts (and all sizes again). What was asked for by name is never left out. Adds a note about what was, and
 * throws a limit error where not even the least fits.
 */
export function firstThatFits<D extends Draft>(
  { axes, sizesOpen, workersOpen }: ResolvedAxes,
  draftOf: (sizesBytes: readonly number[], workers: readonly number[]) => D,
  notes: string[],
): D {
  const whole = draftOf(axes.sizesBytes, axes.workers);
  if (whole.excess === null) return whole;
  let lastExcess = whole.excess;
  for (const workers of workersOpen ? prefixes(axes.workers) : [axes.workers]) {
    for (const sizesBytes of sizesOpen ? prefixes(axes.sizesBytes) : [axes.sizesBytes]) {
      const draft = draftOf(sizesBytes, workers);
      if (draft.excess === null) {
        const left = [
          sizeNames(axes.sizesBytes.slice(sizesBytes.length)),
          workerNames(axes.workers.slice(workers.length)),
        ].filter((name) => name !== "");
        notes.push(
          `Left out ${left.join(" and ")}, because otherwise the plan does not fit: ${whole.excess.reason}.`,
        );
        return draft;
      }
      lastExcess = draft.excess;
    }
  }
  throw doesNotFit(lastExcess);
}

export function doesNotFit({ reason, hint }: Excess): PinbenchError {
  return new PinbenchError("limit", `The plan does not fit this machine: ${reason}.`, { hint });
}

/** The list itself, then each time without its last entry, down to the first entry alone. */
function prefixes(values: readonly number[]): (readonly number[])[] {
  return values.map((_, dropped) => values.slice(0, values.length - dropped));
}

function sizeNames(sizesBytes: readonly number[]): string {
  if (sizesBytes.length <= 3) return sizesBytes.map(formatSize).join(", ");
  return `${sizesBytes.length} sizes from ${formatSize(sizesBytes[0]!)} to ${formatSize(sizesBytes.at(-1)!)}`;
}

function workerNames(workers: readonly number[]): string {
  return workers.length === 0 ? "" : `${workers.join(", ")} workers`;
}
