import { median } from "../../stats/order-statistics.js";
import type { Course } from "../history/history-document.js";

const blocks = "▁▂▃▄▅▆▇█";

/** Least height of a line, as a share of the figure: less of a change is drawn as a part of it. */
const leastRange = 0.02;

/**
 * The course as one line of blocks, a column a check, or the median of several where there are more than `width`. Its
 * height is from the least to the largest change, but at least 2 %; a check without the figure is a blank.
 */
export function sparkline({ points }: Pick<Course, "points">, checks: number, width: number): string {
  const columns = Math.min(width, checks);
  const drawn = Array.from({ length: columns }, (_, column) => {
    const isOf = (check: number) => Math.floor((check * columns) / checks) === column;
    const changes = points.filter(({ check }) => isOf(check)).map(({ change }) => change);
    return changes.length === 0 ? null : median(changes);
  });
  const known = drawn.filter((change) => change !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const range = Math.max(leastRange, most - least);
  const bottom = (least + most - range) / 2;
  const block = (change: number) => {
    const height = Math.floor(((change - bottom) / range) * blocks.length);
    return blocks[Math.max(0, Math.min(blocks.length - 1, height))]!;
  };
  return drawn.map((change) => (change === null ? " " : block(change))).join("");
}

/** The dates of the first and the last check as the head of such lines: one line, or two if `width` has no room for both. */
export function datesAlong(checks: readonly { startedAt: string }[], width: number): string[] {
  const [first, last] = [checks[0], checks.at(-1)].map((check) => check?.startedAt.slice(0, 10) ?? "");
  const line = `${first} – ${last}`;
  return line.length <= width ? [line] : [`${first} –`, last!];
}
