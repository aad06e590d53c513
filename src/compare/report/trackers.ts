import { jsonReport } from "../../draw/json.js";
import { formatMargin } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import { noticeIn } from "../../results/naming/wording.js";
import type { CellComparison, Comparison } from "../comparison.js";
import { candidateEstimate, describeChange, type Estimate, formatFigure, trackedName } from "./cell-text.js";

/** The formats of services that follow figures over time: github-action-benchmark and Bencher. */

/**
 * The candidate's figures for github-action-benchmark's `customBiggerIsBetter`. Latency, where less is better, is
 * given as its rate of copies.
 */
export function benchmarkActionReport(comparison: Comparison): string {
  return jsonReport(
    comparison.cells.flatMap((cell) => {
      const estimate = biggerIsBetter(cell);
      if (estimate === null) return [];
      const { figure, interval } = estimate;
      // The format has one margin for both sides: the larger one, so that the interval never seems too narrow.
      const margin = interval === null ? null : Math.max(figure - interval.low, interval.high - figure);
      return [
        {
          name: trackedName(cell, comparison),
          unit: cell.unit === "us" ? "copies/s" : cell.unit,
          value: figure,
          ...(margin === null ? {} : { range: `± ${formatMargin(margin)}` }),
          extra: extraLines(cell, comparison).join("\n"),
        },
      ];
    }),
  );
}

/** The candidate's figure with more as better; null without one. */
function biggerIsBetter(cell: CellComparison): Estimate | null {
  const estimate = candidateEstimate(cell);
  if (cell.unit !== "us" || estimate === null) return estimate;
  const { figure, interval } = estimate;
  if (figure <= 0) return null;
  const rate = (timeUs: number) => 1e6 / timeUs;
  const isKnown = interval !== null && interval.low > 0;
  return {
    figure: rate(figure),
    interval: isKnown ? { low: rate(interval.high), high: rate(interval.low) } : null,
  };
}

function extraLines(cell: CellComparison, comparison: Comparison): string[] {
  const { candidate, unit, verdict } = cell;
  const notice = noticeIn(comparison);
  const isLatency = unit === "us";
  return [
    // Programs parse this text, so its minus sign is ASCII.
    `${verdict}: ${isLatency ? "latency " : ""}${describeChange(cell)}`.replaceAll("−", "-"),
    counted(candidate?.runs ?? 0, "run"),
    ...(isLatency && candidate !== null
      ? [
          `rate for a latency of ${formatFigure(candidate.figure, unit)} µs per copy, because bigger must be better`,
        ]
      : []),
    ...(notice === null ? [] : [notice]),
  ];
}

/** Bencher's measures, by a cell's unit: "latency" is its own, in nanoseconds; "bandwidth" is ours, in GB/s. */
const measures = {
  "GB/s": { name: "bandwidth", scale: 1 },
  us: { name: "latency", scale: 1000 },
} as const;

/**
 * The candidate's figures in Bencher Metric Format, with their intervals if known. The format has no place for a
 * notice, so only the names show that a device is emulated.
 */
export function bmfReport(comparison: Comparison): string {
  const metrics = comparison.cells.flatMap((cell) => {
    const estimate = candidateEstimate(cell);
    if (estimate === null) return [];
    const { name, scale } = measures[cell.unit];
    const { figure, interval } = estimate;
    const bounds =
      interval === null ? {} : { lower_value: interval.low * scale, upper_value: interval.high * scale };
    return [[trackedName(cell, comparison), { [name]: { value: figure * scale, ...bounds } }]];
  });
  return jsonReport(Object.fromEntries(metrics));
}
