import { formatGBps } from "../draw/numbers.js";
import { counted } from "../draw/words.js";
import { parseCellId } from "../results/cell-id.js";
import type { CellResult } from "../results/cell-schema.js";
import { measuredStats } from "../results/naming/cell-figure.js";
import { directionName } from "../results/naming/wording.js";
import type { ResultDocument } from "../results/schema.js";
import { formatSize } from "../settings/units.js";

/**
 * The cells that tables show: all but the controls of host memory, which nobody asked for by `--memory host` or by
 * their ids.
 */
export function cellsAskedFor({ cells, plan }: ResultDocument): CellResult[] {
  const { memory, cells: ids } = plan?.settings ?? {};
  const wasAsked = memory?.includes("host") || ids?.some((id) => parseCellId(id).memory === "host");
  return wasAsked ? cells : cells.filter((cell) => cell.memory !== "host");
}

/** The table that a line stands under. */
type Table = Pick<CellResult, "device" | "direction" | "mode" | "timer" | "cache">;

/**
 * What the controls of a table's cells show, in one line; undefined where it has none, or shows them as its own:
 * "host memory, the CPU's own copies: 12.3 GB/s with 1 worker, 31.0 with 4 (64 MiB)".
 */
export function hostControlLine(document: ResultDocument, table: Table): string | undefined {
  const shown = new Set(cellsAskedFor(document));
  const controls = document.cells.filter(
    (cell) =>
      cell.memory === "host" &&
      !shown.has(cell) &&
      (["device", "mode", "timer", "cache"] as const).every((key) => cell[key] === table[key]),
  );
  const clauses = (["h2d", "d2h"] as const).flatMap((direction) => {
    if (table.direction !== "bidir" && table.direction !== direction) return [];
    const figures = describe(
      controls.filter((cell) => cell.direction === direction),
      direction,
    );
    if (figures === null) return [];
    return table.direction === "bidir" ? [`${directionName[direction]} ${figures}`] : [figures];
  });
  return clauses.length === 0 ? undefined : `host memory, the CPU's own copies: ${clauses.join("; ")}`;
}

/** Null where none of them has a figure. The unit is said once, and so is the size where it is the same. */
function describe(controls: readonly CellResult[], direction: "h2d" | "d2h"): string | null {
  const measured = controls
    .flatMap((cell) => {
      const stats = measuredStats(cell, direction);
      return stats === null ? [] : [{ ...cell, rate: formatGBps(stats.bandwidthGBps.median) }];
    })
    .sort((a, b) => a.workers - b.workers);
  if (measured.length === 0) return null;
  const sizes = new Set(measured.map(({ sizeBytes }) => sizeBytes));
  const figures = measured.map(({ rate, workers, sizeBytes }, i) => {
    const size = sizes.size > 1 || i === measured.length - 1 ? ` (${formatSize(sizeBytes)})` : "";
    return i === 0
      ? `${rate} GB/s with ${counted(workers, "worker")}${size}`
      : `${rate} with ${workers}${size}`;
  });
  return figures.join(", ");
}
