import type { CellResult, ResultDocument } from "../results/schema.js";
import { formatSizeRounded } from "../settings/units.js";

/** The header's lines on how it was measured. */

export function cacheOf(cells: readonly CellResult[]): string {
  const states = new Set(cells.map(({ cache }) => cache));
  const descriptions: string[] = [];
  if (states.has("cold")) {
    descriptions.push(describeColdPool(cells.filter(({ cache }) => cache === "cold")));
  }
  if (states.has("warm")) {
    descriptions.push("warm: each worker copies one buffer again and again");
  }
  return descriptions.join("; ");
}

function describeColdPool(cells: readonly CellResult[]): string {
  const known = cells.flatMap(({ cachePool }) => (cachePool === null ? [] : [cachePool]));
  const pools = known.map(({ totalBytes }) => totalBytes).filter((bytes) => bytes > 0);
  const [pool] = known;
  if (pools.length === 0 || pool === undefined) {
    return "cold: buffers are rotated";
  }
  const least = formatSizeRounded(Math.min(...pools));
  const most = formatSizeRounded(Math.max(...pools));
  const span = least === most ? least : `${least} to ${most}`;
  const cache = `${formatSizeRounded(pool.lastLevelCacheBytes)}, from ${pool.lastLevelCacheSource}`;
  return `cold: buffers rotated through ${span} (last-level cache ${cache})`;
}

export function timingOf({ cells, importedFrom }: ResultDocument): string {
  const timers = new Set(cells.map(({ timer }) => timer));
  const methods: string[] = [];
  if (timers.has("wall")) {
    methods.push("wall clock, from release to last completion");
  }
  if (timers.has("event")) {
    methods.push("events, on the copy engine alone");
  }
  const figures =
    importedFrom == null ? "medians, ± half a 95 % stopping interval" : "one published figure a cell";
  return `${methods.join("; ")}; ${figures}`;
}
