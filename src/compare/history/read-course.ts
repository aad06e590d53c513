import { type FarRun, farDistances, farRuns, longestRun, standardized } from "../../stats/far-runs.js";
import { median } from "../../stats/order-statistics.js";
import { type CoursePoint, fitPieces, type PiecewiseFit } from "../../stats/piecewise-fit.js";
import { periodicPattern, repeatingPattern } from "../../stats/repeating-pattern.js";
import { twoLevels } from "../../stats/two-levels.js";

/** A figure of one check: its logarithm. */
export interface TimedPoint extends CoursePoint {
  /** Milliseconds since 1970. */
  time: number;
}

/** A repeating pattern of a course. Changes are of logarithms, from the highest level to the lowest. */
export type CoursePattern =
  | { kind: "daily"; change: number; lowestHour: number; highestHour: number }
  | { kind: "alternation"; change: number; checksLow: number }
  | { kind: "cycle"; change: number; period: number };

/** The findings of a course. Changes are of logarithms; indices are those of its points. */
export interface CourseReading {
  /** The fit of the points before `end`, without the pattern. */
  fit: PiecewiseFit;
  pattern: CoursePattern | null;
  /** Runs of one to three points that are far off, after which the course continued as before. */
  outages: (FarRun & { change: number })[];
  /** The last one to three points, if they are far off: too few to fit a step. */
  end: (FarRun & { change: number }) | null;
  /** The last point relative to the median of the earlier ones; null for a single point. */
  newest: { change: number; deviation: number | null; isBeyond: boolean } | null;
}

/** False-positive rate of each pattern for independent values. Checks are correlated; the tests allow for that. */
const chanceOfPattern = 1e-4;

/**
 * Reads a course of one or more points. The pattern is removed before the search for steps, drifts and outages, because
 * each of its periods would be one. In at most 1 of 100 plain courses this finds a pattern, an outage, a step at the
 * end or an outlying newest value, as a test simulates. Plain courses are independent, or have a lag-1 correlation of
 * 0.4, also with tails of Student's t with 3 degrees of freedom.
 */
export function readCourse(points: readonly TimedPoint[]): CourseReading {
  const values = points.map(({ value }) => value);
  const { pattern, offsets } = patternOf(points);
  const plain = points.map(({ value, error }, i) => ({ value: value - (offsets[i] ?? 0), error }));
  const end = endRunOf(plain);
  const fit = end?.fit ?? fitPieces(plain)!;
  const far = outagesOf(plain.slice(0, fit.residuals.length), fit);
  // A course that has not returned has no outage.
  const outages = far.filter((outage) => outage.end < points.length);
  const run = end === null ? null : { first: end.first, end: end.end, change: end.change };
  return { fit, pattern, outages, end: run, newest: newestOf(values, points, pattern, run !== null) };
}

const hourMs = 3_600_000;
/** Parts of a day, long enough for a check in most of them, and short enough to show a working day. */
const hoursOfBin = 6;
const binsOfDay = 24 / hoursOfBin;
/** Number of newest days that decide on a daily pattern. */
const mostDays = 500;
/** Fewest checks in an hour of the day that count. */
const fewestInHour = 3;

/** The pattern of a course, and its offset at each point; no offsets without a pattern. */
function patternOf(points: readonly TimedPoint[]): {
  pattern: CoursePattern | null;
  offsets: readonly number[];
} {
  const values = points.map(({ value }) => value);
  const daily = dailyPattern(points);
  if (daily !== null) return daily;
  const levels = twoLevels(values);
  if (levels !== null) {
    const { low, high, isHigh } = levels;
    const checksLow = isHigh.filter((one) => !one).length;
    const offsets = isHigh.map((one) => (one ? 0 : low - high));
    return { pattern: { kind: "alternation", change: low - high, checksLow }, offsets };
  }
  const cycle = periodicPattern(values, chanceOfPattern);
  if (cycle === null) return { pattern: null, offsets: [] };
  const { profile, period } = cycle;
  const { lowest, highest } = extremesOf(profile);
  const offsets = values.map((_, i) => profile[i % period] ?? 0);
  return { pattern: { kind: "cycle", change: lowest - highest, period }, offsets };
}

function extremesOf(profile: readonly (number | null)[]): { lowest: number; highest: number } {
  const known = profile.filter((level) => level !== null);
  return { lowest: Math.min(...known), highest: Math.max(...known) };
}

/** The medians of quarters of a day (UTC) have a pattern with a period of four. */
function dailyPattern(points: readonly TimedPoint[]): { pattern: CoursePattern; offsets: number[] } | null {
  const blockOf = ({ time }: TimedPoint) => Math.floor(time / (hoursOfBin * hourMs));
  const last = Math.max(...points.map(blockOf));
  const oldest = Math.max(last - mostDays * binsOfDay, Math.min(...points.map(blockOf)));
  // Block 0 begins at midnight, as this one does.
  const first = oldest - (oldest % binsOfDay);
  const members = Array.from({ length: last - first + 1 }, (): number[] => []);
  for (const point of points) members[blockOf(point) - first]?.push(point.value);
  const medians = members.map((block) => (block.length === 0 ? null : median(block)));
  const found = repeatingPattern(medians, binsOfDay, chanceOfPattern);
  if (found === null) return null;
  const { profile } = found;
  const binOf = (block: number) => block % binsOfDay;
  const hours = Array.from({ length: 24 }, (): number[] => []);
  const hourOf = ({ time }: TimedPoint) => Math.floor(time / hourMs) % 24;
  for (const point of points) {
    const block = blockOf(point) - first;
    const centre = medians[block];
    if (centre != null) hours[hourOf(point)]!.push(point.value - centre + (profile[binOf(block)] ?? 0));
  }
  const offsets = points.map((point) => {
    const ofHour = hours[hourOf(point)]!;
    return ofHour.length < fewestInHour ? (profile[binOf(blockOf(point))] ?? 0) : median(ofHour);
  });
  const { lowest, highest } = extremesOf(profile);
  const pattern = {
    kind: "daily",
    change: lowest - highest,
    lowestHour: profile.indexOf(lowest) * hoursOfBin,
    highestHour: profile.indexOf(highest) * hoursOfBin,
  } as const;
  return { pattern, offsets };
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

/**
 * The newest value relative to the median of the earlier ones. In a course with a pattern it is far only if the end is.
 */
function newestOf(
  values: readonly number[],
  points: readonly TimedPoint[],
  pattern: CoursePattern | null,
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
    isBeyond: isEndFar || (pattern === null && isFarOff),
  };
}
