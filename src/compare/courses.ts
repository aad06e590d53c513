import { PinbenchError } from "../errors.js";
import { noticeOf } from "../results/device-facts.js";
import type { HistoryEntry, MachineNames } from "../results/history-entry.js";
import type { History } from "../results/history-file.js";
import { variantName } from "../results/variant.js";
import { matchesPattern } from "../settings/thresholds.js";
import { median } from "../stats/order-statistics.js";
import { fitPieces, type PiecewiseFit } from "../stats/piecewise-fit.js";
import { factNames, machineFacts } from "./differences.js";
import type { Course, CourseDrift, CourseStep, HistoryDocument } from "./history-document.js";
import { type HistorySeries, joinHistory } from "./history-series.js";
import { unmatchedPattern } from "./unmatched-pattern.js";

/** What to tell of a history. */
export interface HistoryRequest {
  /** Of pinbench. */
  version: string;
  /** The folder, as it was given. */
  path: string;
  history: History;
  /** Ids of cells or patterns of these; null for the groups. */
  cells: readonly string[] | null;
}

/**
 * How the figures of a history went, and where they changed. Reads and writes nothing. Throws a usage error where no
 * cell is like one of the patterns.
 */
export function describeHistory({ version, path, history, cells }: HistoryRequest): HistoryDocument {
  const { entries, notes } = history;
  const series = joinHistory(entries);
  const emulated = entries.find(({ backend }) => noticeOf(backend) !== null);
  return {
    schemaVersion: 1,
    kind: "history",
    tool: { name: "pinbench", version },
    createdAt: new Date().toISOString(),
    path,
    notice: emulated === undefined ? null : noticeOf(emulated.backend),
    checks: entries.map(({ id, startedAt, version, outcome, backend }) => ({
      id,
      startedAt,
      version,
      outcome,
      backend,
    })),
    courses:
      cells === null
        ? groupCourses(series, entries)
        : chosen(series, cells, path).map((one) => courseOfCell(one, entries)),
    notes,
  };
}

function chosen(
  series: readonly HistorySeries[],
  patterns: readonly string[],
  path: string,
): HistorySeries[] {
  const unmatched = unmatchedPattern(
    patterns,
    series.map(({ cell }) => cell.id),
  );
  if (unmatched !== null) {
    const { pattern, hint } = unmatched;
    throw new PinbenchError("usage", `no cell of the checks in ${path} is like "${pattern}".`, { hint });
  }
  return series.filter(({ cell }) => patterns.some((pattern) => matchesPattern(cell.id, pattern)));
}

/** Each group's course, and after it those of its cells that have a step or a drift of their own. */
function groupCourses(series: readonly HistorySeries[], entries: readonly HistoryEntry[]): Course[] {
  const several = {
    devices: new Set(series.map(({ cell }) => cell.device)).size > 1,
    backends: new Set(series.map(({ backend }) => backend)).size > 1,
  };
  const names = series.map((one) => groupName(one, several));
  return [...new Set(names)].flatMap((name) => {
    const members = series.filter((_, i) => names[i] === name);
    const group = courseOfGroup(name, members, entries);
    const own = members.length === 1 ? [] : members.map((one) => courseOfCell(one, entries));
    return [group, ...own.filter((course) => !isToldBy(course, group))];
  });
}

/** Comparing every copy makes other figures: these courses go by themselves. */
const everyCopyCompared = "every copy compared";

/** Directions, memory kind and mode, and what else is not as usual: "h2d pinned", "h2d pinned latency, warm". */
function groupName(
  { cell, moved, backend, comparesEveryCopy }: HistorySeries,
  several: { devices: boolean; backends: boolean },
): string {
  const { device, direction, memory, mode, timer, cache } = cell;
  const variant = variantName(cell);
  const rest = [
    ...(variant === "" ? [] : [variant]),
    ...(timer === "wall" ? [] : [`${timer} timer`]),
    ...(cache === "cold" ? [] : [cache]),
    ...(several.devices ? [`device ${device}`] : []),
    ...(several.backends ? [backend] : []),
    ...(comparesEveryCopy ? [everyCopyCompared] : []),
  ];
  const what = [
    direction,
    ...(direction === "bidir" ? [moved] : []),
    memory,
    ...(mode === "throughput" ? [] : [mode]),
  ];
  return [what.join(" "), ...rest].join(", ");
}

/** A value of a course: a logarithm. */
interface LogPoint {
  check: number;
  value: number;
  error: number | null;
}

function courseOfCell(series: HistorySeries, entries: readonly HistoryEntry[]): Course {
  const { cell, moved, comparesEveryCopy } = series;
  const points = logPoints(series);
  const parts = [
    ...(cell.direction === "bidir" ? [moved] : []),
    ...(comparesEveryCopy ? [everyCopyCompared] : []),
  ];
  const name = parts.length === 0 ? cell.id : `${cell.id} (${parts.join(", ")})`;
  const figure = Math.exp(median(points.map(({ value }) => value)));
  return { ...courseOf(points, entries), ...describe([series]), name, kind: "cell", median: figure };
}

function courseOfGroup(
  name: string,
  members: readonly HistorySeries[],
  entries: readonly HistoryEntry[],
): Course {
  const points = members.length === 1 ? logPoints(members[0]!) : commonPoints(members.map(logPoints));
  return { ...courseOf(points, entries), ...describe(members), name, kind: "group", median: null };
}

function describe(members: readonly HistorySeries[]) {
  const { cell, moved, unit, backend, comparesEveryCopy } = members[0]!;
  const { device, memory, mode } = cell;
  return {
    backend,
    comparesEveryCopy,
    device,
    moved,
    memory,
    mode,
    unit,
    ids: members.map(({ cell }) => cell.id),
  };
}

function logPoints({ points }: HistorySeries): LogPoint[] {
  return points.map(({ check, figure, logError }) => ({ check, value: Math.log(figure), error: logError }));
}

/** Enough for the medians to settle: they move by less each time. */
const polishing = 10;

/**
 * What the cells of a group have in common in each check: the median over them of how far each is from its own level,
 * by median polish (J. W. Tukey, "Exploratory Data Analysis", 1977, chapter 11), so that a cell that only some of the
 * checks have takes nothing from the course. The error is that of the middle cell: what moves one moves them all.
 */
function commonPoints(members: readonly (readonly LogPoint[])[]): LogPoint[] {
  const checks = [...new Set(members.flatMap((points) => points.map(({ check }) => check)))].sort(
    (a, b) => a - b,
  );
  const byCheck = new Map(checks.map((check) => [check, [] as (LogPoint & { member: number })[]]));
  for (const [member, points] of members.entries()) {
    for (const point of points) byCheck.get(point.check)!.push({ ...point, member });
  }
  const common = new Map(checks.map((check) => [check, 0]));
  for (let round = 0; round < polishing; ++round) {
    const levels = members.map((points) =>
      median(points.map(({ check, value }) => value - common.get(check)!)),
    );
    for (const check of checks) {
      common.set(check, median(byCheck.get(check)!.map(({ member, value }) => value - levels[member]!)));
    }
  }
  return [...common].map(([check, value]) => {
    const errors = byCheck.get(check)!.flatMap(({ error }) => (error === null ? [] : [error]));
    return { check, value, error: errors.length === 0 ? null : median(errors) };
  });
}

/** Below that a scatter says nothing. */
const fewestForNoise = 3;

function courseOf(
  points: readonly LogPoint[],
  entries: readonly HistoryEntry[],
): Pick<Course, "points" | "noise" | "steps" | "drifts"> {
  const fit = fitPieces(points)!;
  const centre = median(points.map(({ value }) => value));
  return {
    points: points.map(({ check, value }) => ({ check, change: Math.expm1(value - centre) })),
    noise: points.length < fewestForNoise ? null : Math.expm1(fit.deviation),
    steps: fit.steps.map((step) => stepOf(step, points, entries)),
    drifts: fit.pieces.flatMap((piece) => driftOf(piece, points, entries)),
  };
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

/** What is recorded of the machine and differs between two checks; what either does not know is left out. */
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

/** A group's step and a cell's may be found this many checks apart and still be one. */
const samePlace = 3;

/** Whether each of a cell's findings is one that its group has as well. */
function isToldBy(cell: Course, group: Course): boolean {
  const overlap = (from: number, to: number, first: number, last: number) =>
    from <= last + samePlace && first <= to + samePlace;
  return (
    cell.steps.every((step) =>
      group.steps.some(
        ({ change, earliest, latest }) =>
          Math.sign(change) === Math.sign(step.change) &&
          overlap(step.earliest, step.latest, earliest, latest),
      ),
    ) &&
    cell.drifts.every((drift) =>
      group.drifts.some(
        ({ change, first, last }) =>
          Math.sign(change) === Math.sign(drift.change) && overlap(drift.first, drift.last, first, last),
      ),
    )
  );
}
