import type { CellComparison, Comparison } from "../../compare/comparison.js";
import { jsonReport } from "../json.js";
import { trackedName } from "./cell-text.js";
import { candidateEstimate } from "./estimate.js";

/** Bencher knows the measure "latency" in nanoseconds; "bandwidth" is ours, in GB/s. */
const measures = {
  "GB/s": { name: "bandwidth", scale: 1 },
  us: { name: "latency", scale: 1000 },
} as const;

/**
 * The candidate's figures in Bencher Metric Format, with their intervals where those are known. The format has no
 * place for a notice but a benchmark's name.
 */
export function bmfReport(comparison: Comparison): string {
  return jsonReport(
    Object.fromEntries(
      comparison.cells.flatMap((cell) => {
        const metric = metricOf(cell);
        return metric === null ? [] : [[trackedName(cell, comparison), metric]];
      }),
    ),
  );
}

function metricOf(cell: CellComparison) {
  const estimate = candidateEstimate(cell);
  if (estimate === null) {
    return null;
  }
  const { name, scale } = measures[cell.unit];
  const { figure, interval } = estimate;
  const bounds =
    interval === null ? {} : { lower_value: interval.low * scale, upper_value: interval.high * scale };
  return { [name]: { value: figure * scale, ...bounds } };
}
