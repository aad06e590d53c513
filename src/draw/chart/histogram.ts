import { scaleLinear } from "d3-scale";
import { extremesOf } from "./chart-frame.js";

/** Values counted in bins of equal width, whose edges are round numbers; empty bins between the ends too. */
export interface Histogram {
  binWidth: number;
  /** The middle of each bin, ascending. */
  centres: number[];
  /** How many bins there are room for. */
  bins: Bins;
}

/** Where the bins lie that several lists of values are counted in. */
interface Bins {
  start: number;
  count: number;
}

/** However few samples there are, a shape takes some bins; more than the most are too narrow to be read. */
const [fewestBins, mostBins] = [6, 30];

/** Below this share of the values' size, differences are what numbers cannot hold. */
const leastRelativeSpan = 1e-9;

/**
 * Bins for all of these values: about as many as the square root of their number, a usual rule for samples of unknown
 * shape. One bin where all are the same. Values must be finite, and at least one.
 */
export function histogramBins(values: readonly number[]): Histogram {
  const [least, most] = extremesOf(values);
  const size = Math.max(Math.abs(least), Math.abs(most));
  if (most - least <= leastRelativeSpan * size) {
    const binWidth = size === 0 ? 1 : size / 100;
    return { binWidth, centres: [least], bins: { start: least - binWidth / 2, count: 1 } };
  }
  const about = Math.min(Math.max(Math.ceil(Math.sqrt(values.length)), fewestBins), mostBins);
  const edges = scaleLinear().domain([least, most]).nice(about).ticks(about);
  const start = edges[0]!;
  const binWidth = (edges.at(-1)! - start) / (edges.length - 1);
  const count = edges.length - 1;
  const centres = Array.from({ length: count }, (_, bin) => start + (bin + 0.5) * binWidth);
  return { binWidth, centres, bins: { start, count } };
}

/** How many of the values lie in each bin; what lies on an edge counts in the bin above it. */
export function countInBins(
  values: readonly number[],
  { binWidth, bins: { start, count } }: Histogram,
): number[] {
  const counts = Array<number>(count).fill(0);
  for (const value of values) {
    const bin = Math.floor((value - start) / binWidth);
    counts[Math.min(Math.max(bin, 0), count - 1)]! += 1;
  }
  return counts;
}
