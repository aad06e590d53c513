import { PinbenchError } from "../../errors.js";
import { noticeOf } from "../../results/device-facts.js";
import type { History } from "../../results/files/history-file.js";
import type { HistoryEntry, MachineNames } from "../../results/history-entry.js";
import { variantName } from "../../results/variant.js";
import { median } from "../../stats/order-statistics.js";
import { robustVariance } from "../../stats/variance.js";
import { matchesPattern, unmatchedPattern } from "./cell-patterns.js";
import { courseOf, type LogPoint } from "./course-of-points.js";
import type { Course, HistoryDocument } from "./history-document.js";
import { byMachine, type HistorySeries, joinHistory } from "./history-series.js";

/** Options of a history report. */
export interface HistoryRequest {
  version: string;
  /** The folder as given. */
  path: string;
  history: History;
  /** Cell ids or patterns; null for the groups. */
  cells: readonly string[] | null;
}

/**
 * The courses of a history's figures and their changes. Reads and writes nothing. Throws a usage error if a pattern
 * matches no cell.
 */
export function describeHistory({ version, path, history, cells }: HistoryRequest): HistoryDocument {
  const { entries, notes } = history;
  const series = seriesByMachine(entries);
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
        : chosen(series, cells, path).map((one) => courseOfCell(one, series, entries)),
    notes,
  };
}

interface MachineSeries extends HistorySeries {
  /** The machine's name; null if there is only one. */
  machine: string | null;
}

/** The series of each machine separately: a difference between machines is no change. */
function seriesByMachine(entries: readonly HistoryEntry[]): MachineSeries[] {
  const checkOf = new Map(entries.map((entry, check) => [entry, check]));
  const machines = byMachine(entries);
  const names = machineNames(machines.map((members) => members.at(-1)!.machine));
  return machines.flatMap((members, i) =>
    joinHistory(members).map((series) => ({
      ...series,
      machine: machines.length === 1 ? null : names[i]!,
      points: series.points.map((point) => ({ ...point, check: checkOf.get(members[point.check]!)! })),
    })),
  );
}

/** Machines named by host, or by host and GPUs if hosts are shared. */
function machineNames(machines: readonly MachineNames[]): string[] {
  const hosts = machines.map(({ hostName }) => hostName.join(", "));
  return machines.map(({ gpuUuids }, i) => {
    const host = hosts[i]!;
    const isShared = hosts.filter((other) => other === host).length > 1;
    const parts = [...(host === "" ? [] : [host]), ...(isShared || host === "" ? gpuUuids : [])];
    return parts.length === 0 ? "unknown machine" : parts.join(", ");
  });
}

function chosen(
  series: readonly MachineSeries[],
  patterns: readonly string[],
  path: string,
): MachineSeries[] {
  const unmatched = unmatchedPattern(
    patterns,
    series.map(({ cell }) => cell.id),
  );
  if (unmatched !== null) {
    const { pattern, hint } = unmatched;
    throw new PinbenchError("usage", `no cell of the checks in ${path} matches "${pattern}".`, { hint });
  }
  return series.filter(({ cell }) => patterns.some((pattern) => matchesPattern(cell.id, pattern)));
}

/** Each group's course, followed by those of its cells with findings of their own. */
function groupCourses(series: readonly MachineSeries[], entries: readonly HistoryEntry[]): Course[] {
  const several = {
    devices: new Set(series.map(({ cell }) => cell.device)).size > 1,
    backends: new Set(series.map(({ backend }) => backend)).size > 1,
  };
  const names = series.map((one) => groupName(one, several));
  return [...new Set(names)].flatMap((name) => {
    const members = series.filter((_, i) => names[i] === name);
    const group = courseOfGroup(name, members, series, entries);
    const own = members.length === 1 ? [] : members.map((one) => courseOfCell(one, series, entries));
    return [group, ...own.filter((course) => !isCoveredBy(course, group))];
  });
}

/** Comparing every copy changes the figures, so these have their own courses. */
const everyCopyCompared = "every copy compared";

/** Direction, memory kind and mode, and all that is unusual: "h2d pinned", "h2d pinned latency, warm". */
function groupName(
  { cell, moved, backend, machine, comparesEveryCopy }: MachineSeries,
  several: { devices: boolean; backends: boolean },
): string {
  const { device, direction, memory, mode, cache } = cell;
  const variant = variantName(cell);
  const rest = [
    ...(variant === "" ? [] : [variant]),
    ...(cache === "cold" ? [] : [cache]),
    ...(several.devices ? [`device ${device}`] : []),
    ...(several.backends ? [backend] : []),
    ...(machine === null ? [] : [machine]),
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

function courseOfCell(
  series: MachineSeries,
  all: readonly MachineSeries[],
  entries: readonly HistoryEntry[],
): Course {
  const { cell, moved, machine, comparesEveryCopy } = series;
  const points = logPoints(series);
  const parts = [
    ...(cell.direction === "bidir" ? [moved] : []),
    ...(machine === null ? [] : [machine]),
    ...(comparesEveryCopy ? [everyCopyCompared] : []),
  ];
  const name = parts.length === 0 ? cell.id : `${cell.id} (${parts.join(", ")})`;
  const figure = Math.exp(median(points.map(({ value }) => value)));
  return {
    ...courseOf(points, [series], entries),
    ...describe([series], all),
    name,
    kind: "cell",
    median: figure,
  };
}

function courseOfGroup(
  name: string,
  members: readonly MachineSeries[],
  all: readonly MachineSeries[],
  entries: readonly HistoryEntry[],
): Course {
  const points = members.length === 1 ? logPoints(members[0]!) : commonPoints(members.map(logPoints));
  return {
    ...courseOf(points, members, entries),
    ...describe(members, all),
    name,
    kind: "group",
    median: null,
  };
}

function describe(members: readonly MachineSeries[], all: readonly MachineSeries[]) {
  const { cell, moved, unit, backend, machine, comparesEveryCopy } = members[0]!;
  const { device, memory, mode } = cell;
  return {
    backend,
    machine,
    behind: behindOthers(members, all),
    comparesEveryCopy,
    device,
    moved,
    memory,
    mode,
    unit,
    ids: members.map(({ cell }) => cell.id),
  };
}

/** Smallest difference between machines that is reported. */
const leastBehind = 0.05;
/** The same in robust deviations of their checks. */
const deviationsBehind = 4;

/**
 * The fastest other machine with the same cells, if this one is well behind it: the median difference of the same
 * cells' medians.
 */
function behindOthers(members: readonly MachineSeries[], all: readonly MachineSeries[]): Course["behind"] {
  const keyOf = ({ cell, moved, unit, backend, comparesEveryCopy }: MachineSeries) =>
    [cell.id, moved, unit, backend, comparesEveryCopy].join(" ");
  const own = new Map(members.map((one) => [keyOf(one), logPoints(one).map(({ value }) => value)]));
  // This machine is among them: it is not behind itself.
  const rivals = all.filter((one) => own.has(keyOf(one)));
  const machines = [...new Set(rivals.map(({ machine }) => machine))];
  const found = machines.flatMap((machine) => {
    const theirs = rivals.filter((one) => one.machine === machine);
    const pairs = theirs.map(
      (one) => [own.get(keyOf(one))!, logPoints(one).map(({ value }) => value)] as const,
    );
    const change = median(pairs.map(([mine, other]) => median(mine) - median(other)));
    const deviation = Math.sqrt(robustVariance(pairs.flat())?.variance ?? 0);
    const loss = members[0]!.unit === "us" ? change : -change;
    const least = Math.max(-Math.log1p(-leastBehind), deviationsBehind * deviation);
    return loss >= least ? [{ machine: machine!, change: Math.expm1(change) }] : [];
  });
  return found.sort((a, b) => Math.abs(b.change) - Math.abs(a.change))[0] ?? null;
}

function logPoints({ points }: HistorySeries): LogPoint[] {
  return points.map(({ check, figure, logError }) => ({ check, value: Math.log(figure), error: logError }));
}

/** Rounds of median polish, enough to settle: each changes less. */
const polishing = 10;

/**
 * The common course of a group's cells: in each check the median of their distances from their own levels, by median
 * polish (J. W. Tukey, "Exploratory Data Analysis", 1977, chapter 11), so that a cell missing from some checks does not
 * distort it. The error is that of the median cell, because a common cause moves all.
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

/** Largest distance, in checks, between a group's and a cell's step that count as one. */
const samePlace = 3;

/** Whether the group has each of a cell's findings too. */
function isCoveredBy(cell: Course, group: Course): boolean {
  return placesOf(cell).every((own) => placesOf(group).some((shared) => isSamePlace(own, shared)));
}

/** A finding of a course: its kind, its direction, and the range of checks in which it may lie. */
interface FoundPlace {
  kind: "step" | "drift" | "outage";
  change: number;
  first: number;
  last: number;
}

/** A step at the end may be an ordinary step in another course. */
function placesOf({ steps, drifts, outages, endStep }: Course): FoundPlace[] {
  return [
    ...steps.map(({ change, earliest, latest }) => {
      return { kind: "step", change, first: earliest, last: latest } as const;
    }),
    ...drifts.map((drift) => ({ kind: "drift", ...drift }) as const),
    ...outages.map((outage) => ({ kind: "outage", ...outage }) as const),
    ...(endStep === null ? [] : [{ kind: "step", ...endStep } as const]),
  ];
}

function isSamePlace(a: FoundPlace, b: FoundPlace): boolean {
  return (
    a.kind === b.kind &&
    Math.sign(a.change) === Math.sign(b.change) &&
    a.first <= b.last + samePlace &&
    b.first <= a.last + samePlace
  );
}
