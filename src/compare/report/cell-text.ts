import { formatChange, formatGBps, formatMicroseconds, saysAnything } from "../../draw/numbers.js";
import { counted, listed } from "../../draw/words.js";
import { cellNames, directionName } from "../../results/naming/wording.js";
import {
  type CellComparison,
  type Comparison,
  type GroupComparison,
  isFailing,
  looksSlower,
  type Verdict,
} from "../comparison.js";

/** Texts on one cell of a comparison, for all outputs. */

/** Printed names of a cell's units. */
export const unitName = { "GB/s": "GB/s", us: "µs" } as const;

/** The name of a comparison's cell in texts for people. */
export type NameOfCompared = (cell: CellComparison) => string;

/** The names of a comparison's cells, with "(H2D)" after a bidir cell's single direction. */
export function comparedNames({ cells }: Pick<Comparison, "cells">): NameOfCompared {
  const names = cellNames(cells.map(({ id }) => id));
  return (cell) => withDirection(names(cell.id), cell);
}

function withDirection(name: string, { direction, moved }: CellComparison): string {
  return direction === "bidir" && moved !== "sum" ? `${name} (${directionName[moved]})` : name;
}

/** A figure in the cell's unit, without the unit. */
export function formatFigure(figure: number, unit: CellComparison["unit"]): string {
  return unit === "us" ? formatMicroseconds(figure) : formatGBps(figure);
}

/** The figure of one side of a cell, without the unit; null if there is no finite one. */
export function sideText(side: { figure: number } | null, unit: CellComparison["unit"]): string | null {
  return side === null || !Number.isFinite(side.figure) ? null : formatFigure(side.figure, unit);
}

/**
 * The relative change, such as "−9.8 %"; null if there is none. Rounded towards slower: a loss is never shown smaller
 * than it is, nor a gain larger.
 */
export function changeText(cell: CellComparison): string | null {
  const change = changeEstimate(cell);
  return change === null ? null : formatChange(change.figure, cell.unit === "us" ? "up" : "down");
}

/**
 * The interval of the change, such as "−10.1 to −9.5 %", rounded outwards; null if no spread is known, or if the
 * interval is too wide to be useful.
 */
export function intervalText(cell: CellComparison): string | null {
  const change = changeEstimate(cell);
  const interval = change?.interval ?? null;
  if (change === null || interval === null || isTooWide(change)) return null;
  return rangeText(interval.low, interval.high);
}

/** Whether the change's interval is too wide for a table. */
export function isTooWide({ figure, interval }: Estimate): boolean {
  return interval !== null && !saysAnything((interval.high - interval.low) / 2 / (1 + figure));
}

/** The change in a phrase: "−9.8 % (−10.1 to −9.5 %); confirmed by 5 fresh processes". */
export function describeChange(cell: CellComparison): string {
  const change = changeText(cell);
  if (change === null) return "change not known";
  const estimate = changeEstimate(cell);
  const noInterval =
    estimate !== null && isTooWide(estimate) ? "the interval is too wide" : "no interval known";
  const parts = [
    `${change} (${intervalText(cell) ?? noInterval})`,
    ...(explainedText(cell) === null ? [] : [`${explainedText(cell)} if only host memory had changed`]),
    ...(cell.slowRuns === null ? [] : [describeSlowRuns(cell)]),
    ...(cell.verdict === "uneven" ? [cell.reason] : []),
    ...(looksSlower(cell) && cell.confirmation !== null
      ? [`confirmed by ${freshProcesses(cell.confirmation.runs)}`]
      : []),
  ];
  return parts.join("; ");
}

/** Smallest explained change that is mentioned. */
const leastExplained = 0.01;

/** The cell's change if only the host's memory had changed, such as "−12.1 %"; null if it is tiny or unknown. */
export function explainedText({ explainedByHost, unit }: CellComparison): string | null {
  if (explainedByHost === null || Math.abs(explainedByHost) < leastExplained) return null;
  return formatChange(explainedByHost, unit === "us" ? "up" : "down");
}

/** Both figures and the change in a phrase: "61.4 GB/s before, 55.3 GB/s now: −9.8 % (…)". */
export function describeFigures(cell: CellComparison): string {
  const { baseline, candidate, unit } = cell;
  const shown = (side: { figure: number } | null) => {
    const text = sideText(side, unit);
    return text === null ? "no figure" : `${text} ${unitName[unit]}`;
  };
  const change = candidate === null ? "" : `: ${describeChange(cell)}`;
  return `${shown(baseline)} before, ${shown(candidate)} now${change}`;
}

/** "1 fresh process", "5 fresh processes". */
export function freshProcesses(count: number): string {
  return counted(count, "fresh process", "fresh processes");
}

/** The cells that fail the comparison, the worst first. */
export function failingCells({ cells, rule }: Pick<Comparison, "cells" | "rule">): CellComparison[] {
  return bySeverity(cells.filter((cell) => isFailing(cell, rule)));
}

/** Verdicts by urgency; equal numbers are equally urgent. */
const severity: Readonly<Record<Verdict, number>> = {
  slower: 0,
  "probably slower": 0,
  unsteady: 1,
  uneven: 1,
  missing: 2,
  "not comparable": 2,
  inconclusive: 3,
  faster: 4,
  new: 5,
  "not slower": 6,
};

/** The cells by urgency; of equally urgent ones the largest loss comes first. */
export function bySeverity(cells: readonly CellComparison[]): CellComparison[] {
  const loss = (cell: CellComparison) => {
    if (cell.verdict === "uneven") return cell.lostShare?.candidate ?? 0;
    const change = cell.slowRuns?.worstChange ?? changeEstimate(cell)?.figure ?? 0;
    // Digits that are not shown are ignored, so that equal losses stay in their order.
    return Math.round((cell.unit === "us" ? change : -change) * 1000);
  };
  return [...cells].sort((a, b) => severity[a.verdict] - severity[b.verdict] || loss(b) - loss(a));
}

/** The name of a group: "H2D pageable", or "d1 D2H pinned latency" with several devices. */
export function groupName(
  { device, moved, kind }: GroupComparison,
  groups: readonly GroupComparison[],
): string {
  const isOneOfSeveral = groups.some((other) => other.device !== device);
  const direction = moved === "sum" ? `${directionName.h2d}+${directionName.d2h}` : directionName[moved];
  return [...(isOneOfSeveral ? [`d${device}`] : []), direction, kind].join(" ");
}

/** The change of a group with its interval: "−9.8 % (−10.1 to −9.5 %)". */
export function rangeOfChange({
  change,
  low,
  high,
}: Pick<GroupComparison, "change" | "low" | "high">): string {
  if (change === null) return "change not known";
  const interval = low === null || high === null ? "no interval known" : rangeText(low, high);
  return `${formatChange(change, "down")} (${interval})`;
}

/** An interval of a change, rounded outwards: "−10.1 to −9.5 %". */
export function rangeText(low: number, high: number): string {
  return `${formatChange(low, "down").replace(/ %$/, "")} to ${formatChange(high, "up")}`;
}

/** The slow runs of a cell: "2 of 5 runs far slower, down to −41.2 %, at 10:12:00 and 10:14:00 on 2026-11-20 (UTC)". */
function describeSlowRuns({ slowRuns, unit }: CellComparison): string | null {
  if (slowRuns === null) return null;
  const { count, runs, worstChange, startedAt } = slowRuns;
  const worst = formatChange(worstChange, unit === "us" ? "up" : "down");
  return `${count} of ${counted(runs, "run")} far slower, by up to ${worst}, started ${describeTimes(startedAt)}`;
}

const mostTimes = 4;

function describeTimes(times: readonly string[]): string {
  const named = times.slice(0, mostTimes).map((time) => time.replace(/\.\d+Z$/, "Z"));
  return times.length <= mostTimes
    ? listed(named)
    : `${named.join(", ")} and ${times.length - mostTimes} more`;
}

/** A figure and its 95 % interval, in the same unit. */
export interface Estimate {
  figure: number;
  /** Null if no spread is known. */
  interval: { low: number; high: number } | null;
}

/** The relative change (-0.06 is 6 % less); null if there is no finite one. */
export function changeEstimate({ candidate }: CellComparison): Estimate | null {
  if (candidate === null || !isFiniteNumber(candidate.change)) return null;
  const { change, low, high } = candidate;
  return { figure: change, interval: isFiniteNumber(low) && isFiniteNumber(high) ? { low, high } : null };
}

function isFiniteNumber(value: number | null): value is number {
  return Number.isFinite(value);
}
