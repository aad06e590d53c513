import type { CellComparison, Comparison } from "../../compare/comparison.js";
import { noticeOf } from "../../results/device-facts.js";
import { formatChange, formatGBps, formatMicroseconds } from "../format-number.js";
import { directionName } from "../wording.js";
import { changeEstimate } from "./estimate.js";

/** What every output says of one cell. */

export const unitName = { "GB/s": "GB/s", us: "µs" } as const;

/** Its id; in latency mode a bidir cell is compared twice, once a direction, and two things need two names. */
export function cellName({ id, direction, moved }: CellComparison): string {
  return direction === "bidir" && moved !== "sum" ? `${id} (${directionName[moved]})` : id;
}

/** The name under which a service follows a cell over time: an emulated device's figures are kept apart. */
export function trackedName(cell: CellComparison, comparison: Comparison): string {
  return comparisonNotice(comparison) === null ? cellName(cell) : `${cellName(cell)} (emulated device)`;
}

/** What every output of the emulated device says; null where the figures are a GPU's. */
export function comparisonNotice({ notice, backend }: Comparison): string | null {
  return notice ?? noticeOf(backend);
}

/** A figure in the cell's unit, without the unit. */
export function formatFigure(figure: number, unit: CellComparison["unit"]): string {
  return unit === "us" ? formatMicroseconds(figure) : formatGBps(figure);
}

/** "−9.8 %", rounded towards the slower: a loss is never shown smaller than it is, nor a gain larger. */
export function changeText(cell: CellComparison): string | null {
  const change = changeEstimate(cell);
  return change === null ? null : formatChange(change.figure, cell.unit === "us" ? "up" : "down");
}

/** "−10.1 to −9.5 %", rounded outwards; null where no spread is known. */
export function intervalText(cell: CellComparison): string | null {
  const interval = changeEstimate(cell)?.interval ?? null;
  if (interval === null) {
    return null;
  }
  const low = formatChange(interval.low, "down");
  return `${low.replace(/ %$/, "")} to ${formatChange(interval.high, "up")}`;
}

/** "−9.8 % (−10.1 to −9.5 %); confirmed by 5 fresh processes". */
export function describeChange(cell: CellComparison): string {
  const change = changeText(cell);
  if (change === null) {
    return "change not known";
  }
  const confirmed =
    cell.verdict === "slower" && cell.confirmation !== null
      ? `; confirmed by ${freshProcesses(cell.confirmation.runs)}`
      : "";
  return `${change} (${intervalText(cell) ?? "no interval known"})${confirmed}`;
}

/** "61.4 GB/s before, 55.3 GB/s now: −9.8 % (…)". */
export function describeFigures(cell: CellComparison): string {
  const { baseline, candidate, unit } = cell;
  const shown = (side: { figure: number } | null) =>
    side === null || !Number.isFinite(side.figure)
      ? "no figure"
      : `${formatFigure(side.figure, unit)} ${unitName[unit]}`;
  const change = candidate === null ? "" : `: ${describeChange(cell)}`;
  return `${shown(baseline)} before, ${shown(candidate)} now${change}`;
}

export function freshProcesses(count: number): string {
  return `${count} fresh process${count === 1 ? "" : "es"}`;
}

/** Most slower first; among cells of either unit. */
export function slowerCells(cells: readonly CellComparison[]): CellComparison[] {
  const loss = (cell: CellComparison) => {
    const change = changeEstimate(cell)?.figure ?? 0;
    return cell.unit === "us" ? change : -change;
  };
  return cells.filter(({ verdict }) => verdict === "slower").sort((a, b) => loss(b) - loss(a));
}
