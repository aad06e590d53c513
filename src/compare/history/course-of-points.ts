import type { HistoryEntry, MachineNames } from "../../results/history-entry.js";
import { median } from "../../stats/order-statistics.js";
import type { PiecewiseFit } from "../../stats/piecewise-fit.js";
import { factNames, machineFacts } from "../comparison.js";
import type { Course, CourseDrift, CourseStep, FarChecks } from "./history-document.js";
import type { HistorySeries } from "./history-series.js";
import { type CourseReading, readCourse } from "./read-course.js";

/** A value of a course: a logarithm. */
export interface LogPoint {
  check: number;
  value: number;
  error: number | null;
}

/** The document's facts on a course, without what it is a course of. */
type CourseOfPoints = Pick<
  Course,
  "points" | "newest" | "noise" | "steps" | "drifts" | "outages" | "endStep"
>;

/** Fewest points with a meaningful scatter. */
const fewestForNoise = 3;

/** The document's facts on a course's points, which belong to these series together. */
export function courseOf(
  points: readonly LogPoint[],
  members: readonly HistorySeries[],
  entries: readonly HistoryEntry[],
): CourseOfPoints {
  const startedAt = (check: number) => entries[check]!.startedAt;
  const reading = readCourse(points);
  const { fit, outages, end } = reading;
  const centre = median(points.map(({ value }) => value));
  return {
    points: points.map(({ check, value }) => ({ check, change: Math.expm1(value - centre) })),
    newest: newestOf(reading, points, members, startedAt),
    noise: points.length < fewestForNoise ? null : Math.expm1(fit.deviation),
    steps: fit.steps.map((step) => stepOf(step, points, entries)),
    drifts: fit.pieces.flatMap((piece) => driftOf(piece, points, entries)),
    outages: outages.map((outage) => farChecksOf(outage, points, startedAt)),
    endStep: end === null ? null : endStepOf(end, points, entries),
  };
}

function newestOf(
  { newest }: CourseReading,
  points: readonly LogPoint[],
  members: readonly HistorySeries[],
  startedAt: (check: number) => string,
): Course["newest"] {
  if (newest === null) return null;
  const { check } = points.at(-1)!;
  const { change, deviation, isBeyond } = newest;
  return {
    check,
    startedAt: startedAt(check),
    figure: members.length === 1 ? members[0]!.points.at(-1)!.figure : null,
    change: Math.expm1(change),
    checksBefore: points.length - 1,
    deviation: deviation === null ? null : Math.expm1(deviation),
    isBeyond,
  };
}

function farChecksOf(
  { first, end, change }: CourseReading["outages"][number],
  points: readonly LogPoint[],
  startedAt: (check: number) => string,
): FarChecks {
  const [from, to] = [points[first]!.check, points[end - 1]!.check];
  return {
    change: Math.expm1(change),
    first: from,
    last: to,
    checks: end - first,
    startedFirst: startedAt(from),
    startedLast: startedAt(to),
  };
}

function endStepOf(
  end: NonNullable<CourseReading["end"]>,
  points: readonly LogPoint[],
  entries: readonly HistoryEntry[],
): Course["endStep"] {
  const far = farChecksOf(end, points, (check) => entries[check]!.startedAt);
  const before = entries[points[end.first - 1]!.check]!;
  return { ...far, differences: machineDifferences(before, entries[far.first]!) };
}

function stepOf(
  { at, earliest, latest, size, low, high }: PiecewiseFit["steps"][number],
  points: readonly LogPoint[],
  entries: readonly HistoryEntry[],
): CourseStep {
  const checkOf = (index: number) => points[index]!.check;
  return {
    change: Math.expm1(size),
    low: Math.expm1(low),
    high: Math.expm1(high),
    before: checkOf(at - 1),
    after: checkOf(at),
    startedBefore: entries[checkOf(at - 1)]!.startedAt,
    startedAfter: entries[checkOf(at)]!.startedAt,
    earliest: checkOf(earliest),
    latest: checkOf(latest),
    differences: machineDifferences(entries[checkOf(earliest - 1)]!, entries[checkOf(latest)]!),
  };
}

function driftOf(
  { first, end, slope, slopeInterval }: PiecewiseFit["pieces"][number],
  points: readonly LogPoint[],
  entries: readonly HistoryEntry[],
): CourseDrift[] {
  if (slopeInterval === null) return [];
  const [from, to] = [points[first]!.check, points[end - 1]!.check];
  const over = (perPoint: number) => Math.expm1(perPoint * (end - 1 - first));
  return [
    {
      change: over(slope),
      low: over(slopeInterval.low),
      high: over(slopeInterval.high),
      perCheck: Math.expm1(slope),
      first: from,
      last: to,
      startedFirst: entries[from]!.startedAt,
      startedLast: entries[to]!.startedAt,
    },
  ];
}

/** The recorded facts of the machine that differ between two checks; unknown ones are left out. */
function machineDifferences(before: HistoryEntry, after: HistoryEntry): CourseStep["differences"] {
  const facts = [before, after].map(factsOf) as [
    Record<string, string | null>,
    Record<string, string | null>,
  ];
  return Object.keys(facts[0]).flatMap((fact) => {
    const [old, now] = [facts[0][fact] ?? null, facts[1][fact] ?? null];
    return old === null || now === null || old === now ? [] : [{ fact, before: old, after: now }];
  });
}

function factsOf({ fingerprint, machine, version }: HistoryEntry): Record<string, string | null> {
  const named = Object.entries(factNames).map(([key, name]) => [name, fingerprint[key] ?? null]);
  const names = Object.entries(machineFacts).map(([key, name]) => {
    const known = machine[key as keyof MachineNames];
    return [name, known.length === 0 ? null : known.join(", ")];
  });
  return { ...Object.fromEntries([...named, ...names]), [factNames.pinbench!]: version };
}
