import { type FarRun, farDistances, farRuns, longestRun, standardized } from "../../stats/far-runs.js";
import { median } from "../../stats/order-statistics.js";
import { type CoursePoint, fitPieces, type PiecewiseFit } from "../../stats/piecewise-fit.js";

/** The findings of a course. Changes are of logarithms; indices are those of its points. */
export interface CourseReading {
  /** The fit of the points before those far off at the end. */
  fit: PiecewiseFit;
  /** Runs of one to three points that are far off, after which the course continued as before. */
  outages: (FarRun & { change: number })[];
  /** The last two or three points, if they are far off: too few to fit a step. */
  end: (FarRun & { change: number }) | null;
  /** The last point relative to the median of the earlier ones; null for a single point. */
  newest: { change: number; deviation: number | null; isBeyond: boolean } | null;
}

/**
 * Reads a course of one or more points, in their order. In at most 1 of 100 plain courses this finds an outage, a step at
 * the end or an outlying newest value, as a test simulates. Plain courses are independent, or have a lag-1 correlation of
 * 0.4, also with tails of Student's t with 3 degrees of freedom.
 */
export function readCourse(points: readonly CoursePoint[]): CourseReading {
  const values = points.map(({ value }) => value);
  const end = endRunOf(points);
  const fit = end?.fit ?? fitPieces(points)!;
  const far = outagesOf(points.slice(0, fit.residuals.length), fit);
  // A course that has not returned has no outage.
  const outages = far.filter((outage) => outage.end < points.length);
  // A single far point is no step: the newest value says it.
  const run =
    end === null || end.end - end.first < 2 ? null : { first: end.first, end: end.end, change: end.change };
  return { fit, outages, end: run, newest: newestOf(values, points, end !== null) };
}

/**
 * The longest run of up to three points at the end that lies far from the prediction of the earlier ones, with their
 * fit. A fit of all points gives the wrong size there, because it winsorizes up to three points in a row. Null if there
 * is none, or if the run is longer: the fit of all points then finds a step.
 */
function endRunOf(points: readonly CoursePoint[]): (FarRun & { change: number; fit: PiecewiseFit }) | null {
  const { length } = points;
  for (let count = Math.min(longestRun + 1, length - 1); count > 0; --count) {
    const first = length - count;
    const run = points.slice(first);
    const before = points.slice(0, first);
    // A fit is slow, so it is made only if it is likely to matter. Differences of neighbours contain no drift.
    if (!isFar(run, nearMedian(before), differences(before))) continue;
    const fit = fitPieces(before)!;
    const { start, slope, first: from } = fit.pieces.at(-1)!;
    const level = start + slope * (first - from);
    if (!isFar(run, level, fit.residuals)) continue;
    if (count > longestRun) return null;
    return { first, end: length, change: median(run.map(({ value }) => value)) - level, fit };
  }
  return null;
}

/** Number of points whose median is the level at the end. */
const nearPoints = 7;

function nearMedian(points: readonly CoursePoint[]): number {
  return median(points.slice(-nearPoints).map(({ value }) => value));
}

/** Deviation of one point, from the differences of neighbours. */
function differences(points: readonly CoursePoint[]): number[] {
  return points.slice(1).map(({ value }, i) => (value - points[i]!.value) / Math.SQRT2);
}

/**
 * Whether all points of a run lie far from a level, on one side and at similar distances, relative to the scatter of
 * the others.
 */
function isFar(run: readonly CoursePoint[], level: number, residuals: readonly number[]): boolean {
  const far = farDistances(residuals);
  if (far === null) return false;
  const distances = run.map(({ value, error }) => standardized(value - level, error, far.deviation));
  const [least, most] = [Math.min(...distances), Math.max(...distances)];
  const [nearest, farthest] = least > 0 ? [least, most] : [-most, -least];
  return nearest >= (run.length === 1 ? far.alone : far.inRun) && nearest >= farthest / 2;
}

function outagesOf(points: readonly CoursePoint[], { residuals }: PiecewiseFit): CourseReading["outages"] {
  const far = farDistances(residuals);
  if (far === null) return [];
  const distances = residuals.map((one, i) => standardized(one, points[i]!.error, far.deviation));
  return farRuns(distances, far.inRun, far.alone).map(({ first, end }) => ({
    first,
    end,
    change: median(residuals.slice(first, end)),
  }));
}

/** The newest value relative to the median of the earlier ones. */
function newestOf(
  values: readonly number[],
  points: readonly CoursePoint[],
  isEndFar: boolean,
): CourseReading["newest"] {
  const before = values.slice(0, -1);
  if (before.length === 0) return null;
  const change = values.at(-1)! - median(before);
  const far = farDistances(before);
  const isFarOff =
    far !== null && Math.abs(standardized(change, points.at(-1)!.error, far.deviation)) >= far.alone;
  return {
    change,
    deviation: far?.deviation ?? null,
    isBeyond: isEndFar || isFarOff,
  };
}
