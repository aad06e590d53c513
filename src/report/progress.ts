import { formatGBps, formatMicroseconds } from "../draw/numbers.js";
import type { CellResult } from "../results/cell-schema.js";
import type { NameOfCell } from "../results/naming/wording.js";
import { formatDuration } from "../settings/units.js";

/** One thing that the line tells. */
export interface Told {
  text: string;
  /** What is added where there is room. */
  more?: string;
}

/** How far a command has come. */
export interface ProgressState {
  /** How long it presumably still takes; null where nothing tells. */
  leftNs: number | null;
  /** Whether that is the longest that it can take, as where it ends when it has found what it looks for. */
  isMost?: boolean;
  /** What it is left of, where that is not the whole command: "of session 2 of 4", "until session 3 of 4". */
  leftOf?: string;
  /** How much of it is done: "41 of 90 cells converged" and "round 3", "process 3 of 8". */
  done: Told;
  /** What it does or waits for at the moment: "opening device 0", "H2D pinned 16 MiB x4" and "54.9 GB/s"; null where `done` says it. */
  now: Told | null;
  /** The best that it has found: "55.1 GB/s" and "H2D pinned 64 MiB x1"; null before there is any. */
  best: Told | null;
}

const separator = "; ";
const ellipsis = "…";

/**
 * One line without colours or a line break, at most `columns` wide: the terminal must not wrap it. Where there is no room
 * for all, what is added is left out first, then the best, then what is done; what is left is the last to go.
 */
export function progressLine(
  { leftNs, isMost = false, leftOf, done, now, best }: ProgressState,
  columns: number,
): string {
  const left =
    leftNs === null ? null : { text: timeLeft(leftNs, isMost) + (leftOf === undefined ? "" : ` ${leftOf}`) };
  const named = best === null ? null : { ...best, text: `best ${best.text}` };
  const whole = ({ text, more }: Told) => (more === undefined ? text : `${text}, ${more}`);
  const brief = ({ text }: Told) => text;
  const line = (parts: (Told | null)[], tell: (part: Told) => string) =>
    parts
      .filter((part) => part !== null)
      .map(tell)
      .join(separator);
  const choices = [
    line([left, done, now, named], whole),
    line([left, done, now, named], brief),
    line([left, done, now], brief),
    line([left, now ?? done], brief),
    line([left ?? now ?? done], brief),
  ];
  const fitting = choices.find(({ length }) => length <= columns) ?? choices.at(-1)!;
  return fitting.length <= columns
    ? fitting
    : fitting.slice(0, Math.max(0, columns - ellipsis.length)) + ellipsis.slice(0, columns);
}

/** Whole seconds, and tenths of minutes from two of them: "about 41 s left", "at most 3.5 min left". */
function timeLeft(leftNs: number, isMost: boolean): string {
  if (leftNs < 1e9) return "less than 1 s left";
  const unitNs = leftNs < 120e9 ? 1e9 : 6e9;
  return `${isMost ? "at most" : "about"} ${formatDuration(Math.ceil(leftNs / unitNs) * unitNs)} left`;
}

/** What is to be known of a cell to name the best one. */
export type MeasuredCell = Pick<CellResult, "id" | "memory" | "mode" | "stats">;

/**
 * The highest rate between host and device or between devices that any of the cells has, with the cell's name; where all
 * are measured for their latency, the shortest. Null where none has a figure.
 */
export function bestOf(cells: Iterable<MeasuredCell>, nameOf: NameOfCell): Told | null {
  let fastest = { id: "", value: 0 };
  let quickest = { id: "", value: Number.POSITIVE_INFINITY };
  for (const { id, memory, mode, stats } of cells) {
    // Copies of the host alone are a control.
    if (memory === "host") continue;
    for (const { direction, bandwidthGBps, latencyUs } of stats) {
      // What stays within a device goes over no link.
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
