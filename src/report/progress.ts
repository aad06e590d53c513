import { formatGBps, formatMicroseconds } from "../draw/numbers.js";
import type { CellResult } from "../results/cell-schema.js";
import type { NameOfCell } from "../results/naming/wording.js";
import { formatDuration } from "../settings/units.js";

export interface ProgressItem {
  text: string;
  /** Added if there is room. */
  more?: string;
}

export interface ProgressState {
  elapsedNs: number;
  /** Time limit: budget, deadline or wait; null without one. */
  limitNs: number | null;
  /** The finished part: "41 of 90 cells converged" with "round 3", or "process 3 of 8". */
  done: ProgressItem;
  /** The activity: "opening device 0", or "H2D pinned 16 MiB x4" with "54.9 GB/s"; null if `done` has it. */
  now?: ProgressItem | null;
  /** The best result so far: "55.1 GB/s" with "H2D pinned 64 MiB"; null before any. */
  best?: ProgressItem | null;
}

const separator = "; ";
const ellipsis = "…";

/**
 * One line of at most `columns` without colours, because the terminal must not wrap it. If it is too long, additions
 * are dropped first, then the best result, then the finished part, and last the time.
 */
export function progressLine(
  { elapsedNs, limitNs, done, now = null, best = null }: ProgressState,
  columns: number,
): string {
  const time = { text: timeText(elapsedNs, limitNs) };
  const named = best === null ? null : { ...best, text: `best ${best.text}` };
  const whole = ({ text, more }: ProgressItem) => (more === undefined ? text : `${text}, ${more}`);
  const brief = ({ text }: ProgressItem) => text;
  const line = (parts: (ProgressItem | null)[], textOf: (part: ProgressItem) => string) =>
    parts
      .filter((part) => part !== null)
      .map(textOf)
      .join(separator);
  const choices = [
    line([time, done, now, named], whole),
    line([time, done, now, named], brief),
    line([time, done, now], brief),
    line([time, now ?? done], brief),
    line([time], brief),
  ];
  const fitting = choices.find(({ length }) => length <= columns) ?? choices.at(-1)!;
  return fitting.length <= columns
    ? fitting
    : fitting.slice(0, Math.max(0, columns - ellipsis.length)) + ellipsis.slice(0, columns);
}

const barColumns = 10;

/** "[####------] 3 of 8 s"; "3 s" without a limit. Whole seconds. */
function timeText(elapsedNs: number, limitNs: number | null): string {
  const elapsed = `${Math.floor(elapsedNs / 1e9)} s`;
  if (limitNs === null) return elapsed;
  const filled = elapsedNs >= limitNs ? barColumns : Math.floor((barColumns * elapsedNs) / limitNs);
  return `[${"#".repeat(filled)}${"-".repeat(barColumns - filled)}] ${elapsed} of ${formatDuration(limitNs)}`;
}

type MeasuredCell = Pick<CellResult, "id" | "memory" | "mode" | "stats">;

/**
 * The highest rate of any copy between host and device or between devices, with the cell's name. If all cells measure
 * latency, the shortest time. Null without figures.
 */
export function bestOf(cells: Iterable<MeasuredCell>, nameOf: NameOfCell): ProgressItem | null {
  let fastest = { id: "", value: 0 };
  let quickest = { id: "", value: Number.POSITIVE_INFINITY };
  for (const { id, memory, mode, stats } of cells) {
    // Host copies are only a control.
    if (memory === "host") continue;
    for (const { direction, bandwidthGBps, latencyUs } of stats) {
      // Copies within a device use no link.
      if (direction === "d2d") continue;
      const [rate, time] = [bandwidthGBps.median, latencyUs?.median ?? Number.POSITIVE_INFINITY];
      if (mode === "throughput" && rate > fastest.value) fastest = { id, value: rate };
      if (time < quickest.value) quickest = { id, value: time };
    }
  }
  if (fastest.value > 0) return { text: `${formatGBps(fastest.value)} GB/s`, more: nameOf(fastest.id) };
  if (quickest.id === "") return null;
  return { text: `${formatMicroseconds(quickest.value)} µs`, more: nameOf(quickest.id) };
}
