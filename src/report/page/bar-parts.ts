import type { Axis, Bar, BarGroup } from "../../draw/chart/chart.js";
import { formatGBps, formatMicroseconds, formatShare } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import { measuredStats, shareOfSpeed } from "../../results/naming/cell-figure.js";
import { formatTick } from "./cell-points.js";

/*
 * The figures of cells as bars that are held against each other.
 */

/** What bars of this mode count. */
export function barAxis(mode: CellResult["mode"]): Axis {
  const label = mode === "latency" ? "µs a copy" : "GB/s";
  return { label, scale: "linear", format: formatTick };
}

/** Of the largest size those of the fewest workers, threads where there are any: what a chart of bars shows of a table. */
export function mainCells(cells: readonly CellResult[]): CellResult[] {
  const ofMost = (some: readonly CellResult[], of: (cell: CellResult) => number) => {
    const most = some.reduce((a, cell) => Math.max(a, of(cell)), Number.NEGATIVE_INFINITY);
    return some.filter((cell) => of(cell) === most);
  };
  const threads = cells.filter(({ workerKind }) => workerKind === "thread");
  const largest = ofMost(threads.length > 0 ? threads : cells, ({ sizeBytes }) => sizeBytes);
  return ofMost(largest, ({ workers }) => -workers);
}

/** A cell's rate or latency as a bar, with its share of the speed of another cell; none where it was not measured. */
export function barOf(
  cell: CellResult | undefined,
  moved: CellStats["direction"],
  { name, isReference, against }: BarTerms,
): Bar[] {
  const stats = measuredStats(cell, moved);
  const isLatency = cell?.mode === "latency";
  const distribution = isLatency ? stats?.latencyUs : stats?.bandwidthGBps;
  if (cell === undefined || distribution == null) return [];
  const { median, low, high } = distribution;
  const share = shareOfSpeed(cell, against, moved);
  const figure = (isLatency ? formatMicroseconds : formatGBps)(median);
  const ofWhat = isLatency ? "as fast" : "of alone";
  const text = share === null ? figure : `${figure}, ${formatShare(share)} ${ofWhat}`;
  return [{ name, value: median, low, high, text, ...(isReference && { isReference }) }];
}

interface BarTerms {
  name: string;
  /** Set for what other bars are held against. */
  isReference?: boolean;
  /** The same cell alone, whose speed this one has a share of. */
  against?: CellResult | undefined;
}

/** What is written at each bar, group by group, as much as a sentence or two can hold. */
export function describeBars(groups: readonly BarGroup[]): string {
  const clauses = groups.flatMap(({ name, bars }) =>
    bars.map((bar, index) => `${index === 0 ? `${name}: ` : ""}${bar.name} ${bar.text}`),
  );
  const more = clauses.length - mostClauses;
  return `${clauses.slice(0, mostClauses).join("; ")}${more > 0 ? `; and ${counted(more, "more bar")}` : ""}.`;
}

const mostClauses = 16;
