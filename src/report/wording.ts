import type { CellStats } from "../results/schema.js";
import type { Direction } from "../settings/choices.js";

/*
 * The terms that every output uses for the same things.
 */

/** What the units of sizes and rates mean. */
export const unitsNote = "GB/s is decimal (1e9 bytes), sizes are binary (1 KiB = 1024 bytes)";

/** What the table of a direction is called. */
export const directionTitle: Readonly<Record<Direction, string>> = {
  h2d: "Host to device (H2D)",
  d2h: "Device to host (D2H)",
  bidir: "Both directions at once",
  d2d: "Device to device (D2D), bytes read plus written",
};

/** A direction in running text and in the head of a column. */
export const directionName: Readonly<Record<Direction | CellStats["direction"], string>> = {
  h2d: "H2D",
  d2h: "D2H",
  d2d: "D2D",
  bidir: "both",
  sum: "sum",
};

/** A number and its noun: "1 cell", "2 cells". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** An enumeration in running text: "a", "a and b", "a, b and c". */
export function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}
