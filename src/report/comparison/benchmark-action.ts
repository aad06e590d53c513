import type { CellComparison, Comparison } from "../../compare/comparison.js";
import { formatMargin } from "../format-number.js";
import { jsonReport } from "../json.js";
import { counted } from "../wording.js";
import { comparisonNotice, describeChange, formatFigure, trackedName } from "./cell-text.js";
import { candidateEstimate, type Estimate } from "./estimate.js";

/**
 * The candidate's figures for github-action-benchmark's `customBiggerIsBetter`. Latency, where less is better, is
 * given as its rate of copies.
 */
export function benchmarkActionReport(comparison: Comparison): string {
  return jsonReport(
    comparison.cells.flatMap((cell) => {
      const estimate = biggerIsBetter(cell);
      if (estimate === null) {
        return [];
      }
      const { figure, interval } = estimate;
      return [
        {
          name: trackedName(cell, comparison),
          unit: cell.unit === "us" ? "copies/s" : cell.unit,
          value: figure,
          ...(interval === null ? {} : { range: `± ${formatMargin(margin(figure, interval))}` }),
          extra: extraLines(cell, comparison).join("\n"),
        },
      ];
    }),
  );
}

function biggerIsBetter(cell: CellComparison): Estimate | null {
  const estimate = candidateEstimate(cell);
  if (cell.unit !== "us" || estimate === null) {
    return estimate;
  }
  const rate = (timeUs: number) => 1e6 / timeUs;
  const { figure, interval } = estimate;
  if (figure <= 0) {
    return null;
  }
  return {
    figure: rate(figure),
    interval:
      interval === null || interval.low <= 0 ? null : { low: rate(interval.high), high: rate(interval.low) },
  };
}

/** The format has one figure for both sides: the longer, lest the interval seem narrower than it is. */
function margin(figure: number, { low, high }: NonNullable<Estimate["interval"]>): number {
  return Math.max(figure - low, high - figure);
}

function extraLines(cell: CellComparison, comparison: Comparison): string[] {
  const { candidate, unit, verdict } = cell;
  const notice = comparisonNotice(comparison);
  const isLatency = unit === "us";
  return [
    // Programs split this text: the minus sign is ASCII's.
    `${verdict}: ${isLatency ? "latency " : ""}${describeChange(cell)}`.replaceAll("−", "-"),
    counted(candidate?.runs ?? 0, "run"),
    ...(isLatency && candidate !== null
      ? [`rate of a latency of ${formatFigure(candidate.figure, unit)} us a copy, as bigger has to be better`]
      : []),
    ...(notice === null ? [] : [notice]),
  ];
}
