import type { Cell } from "../plan/cell.js";
import type { CellResult, CellStats } from "../results/schema.js";

/** The terms that every output uses for the same things. */

export const unitsNote = "GB/s is decimal (1e9 bytes), sizes are binary (1 KiB = 1024 bytes)";

export const directionTitle: Readonly<Record<Cell["direction"], string>> = {
  h2d: "Host to device (H2D)",
  d2h: "Device to host (D2H)",
  bidir: "Both directions at once",
  d2d: "Device to device (D2D), bytes read plus written",
};

export const directionName: Readonly<Record<Cell["direction"] | CellStats["direction"], string>> = {
  h2d: "H2D",
  d2h: "D2H",
  d2d: "D2D",
  bidir: "both",
  sum: "sum",
};

/** "1 cell", "2 cells". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** "a", "a and b", "a, b and c". */
export function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** The statistics of one direction of a cell; null where the cell has none. */
export function statsOf(cell: CellResult, direction: CellStats["direction"]): CellStats | null {
  return cell.stats.find((stats) => stats.direction === direction) ?? null;
}

/** The figures of a cell count only where its data came back right. */
export function isMeasured(cell: CellResult): boolean {
  return (
    cell.stats.length > 0 &&
    (cell.outcome === "converged" || cell.outcome === "budget" || cell.outcome === null)
  );
}
