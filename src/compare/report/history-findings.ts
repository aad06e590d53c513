import { formatChange, formatGBps, formatMicroseconds } from "../../draw/numbers.js";
import { groupBy, type Note, note } from "../../draw/report.js";
import { counted, listed, timeText } from "../../draw/words.js";
import type { Course, CourseDrift, CourseStep, FarChecks } from "../history/history-document.js";

/** Rounded towards the slower, which for a time is more. */
export function courseChange(change: number, { unit }: Pick<Course, "unit">): string {
  return formatChange(change, unit === "us" ? "up" : "down");
}

/** A figure of a course, with its unit: "52.6 GB/s". */
export function courseFigure(figure: number, { unit }: Pick<Course, "unit">): string {
  return unit === "us" ? `${formatMicroseconds(figure)} µs` : `${formatGBps(figure)} GB/s`;
}

/** A change with its interval: "−5.2 % (−5.6 to −4.8 %)". */
export function withInterval({ change, low, high }: CourseStep | CourseDrift, course: Course): string {
  const from = formatChange(low, "down").replace(/ %$/, "");
  return `${courseChange(change, course)} (${from} to ${formatChange(high, "up")})`;
}

/** Whether a change of a course is one for the worse. */
function isSlower(change: number, { unit }: Pick<Course, "unit">): boolean {
  return unit === "us" ? change > 0 : change < 0;
}

/** A finding in one course, in words that findings of other courses may share. */
export interface HistoryFinding {
  /** The kind as which it is counted. */
  kind: "step" | "drift" | "outage" | "step at the end" | "slower machine" | "newest";
  /** The first and the last check of it. */
  from: number;
  to: number;
  /** When the course got its current level; null if it changed nothing permanently. */
  startedAt: string | null;
  /** "step between …", "drift from … to …". */
  place: string;
  /** A remark on the place; may be empty. */
  cause: string;
  /** Its size: "−5.2 % (−5.6 to −4.8 %)". */
  size: string;
  isSlower: boolean;
}

export function courseFindings(course: Course): HistoryFinding[] {
  const { steps, drifts, outages, endStep, behind, newest } = course;
  return [
    ...steps.map(
      (step): HistoryFinding => ({
        kind: "step",
        from: step.after,
        to: step.after,
        startedAt: step.startedAfter,
        place: `step ${stepPlace(step)}`,
        cause: stepCause(step),
        size: withInterval(step, course),
        isSlower: isSlower(step.change, course),
      }),
    ),
    ...drifts.map(
      (drift): HistoryFinding => ({
        kind: "drift",
        from: drift.first,
        to: drift.last,
        startedAt: drift.startedLast,
        place: `drift ${spanText(drift)}`,
        cause: "",
        size: withInterval(drift, course),
        isSlower: isSlower(drift.change, course),
      }),
    ),
    ...outages.map(
      (outage): HistoryFinding => ({
        kind: "outage",
        from: outage.first,
        to: outage.last,
        startedAt: null,
        place: `${isSlower(outage.change, course) ? "outage" : "short rise"} ${spanText(outage)}`,
        cause: "",
        size: courseChange(outage.change, course),
        isSlower: isSlower(outage.change, course),
      }),
    ),
    ...(endStep === null ? [] : [endFinding(endStep, course)]),
    ...(behind === null ? [] : [behindFinding(behind, course)]),
    ...(newest === null || !newest.isBeyond ? [] : [newestFinding(newest, course)]),
  ];
}

/** Whether anything was found in a course. */
export function isChanged(course: Course): boolean {
  return courseFindings(course).length > 0;
}

function stepPlace({ before, after, earliest, latest, startedBefore, startedAfter }: CourseStep): string {
  const place = `between check ${before + 1} (${timeText(startedBefore)}) and ${after + 1} (${timeText(startedAfter)})`;
  return earliest === latest
    ? place
    : `${place}, perhaps as early as check ${earliest + 1} or as late as ${latest + 1}`;
}

/** The recorded facts that changed at a step. */
export function stepCause({ differences }: Pick<CourseStep, "differences">): string {
  if (differences.length === 0) return "no recorded fact changed there";
  return `changed there: ${listed(differences.map(({ fact, before, after }) => `${fact} ${before} → ${after}`))}`;
}

function spanText({ first, last, startedFirst, startedLast }: FarChecks | CourseDrift): string {
  return first === last
    ? `in check ${first + 1} (${timeText(startedFirst)})`
    : `from check ${first + 1} (${timeText(startedFirst)}) to ${last + 1} (${timeText(startedLast)})`;
}

/** "the last 2 checks, from check 29 (…) on, are slower". */
function endFinding(end: NonNullable<Course["endStep"]>, course: Course): HistoryFinding {
  const way = isSlower(end.change, course) ? "slower" : "faster";
  return {
    kind: "step at the end",
    from: end.first,
    to: end.last,
    startedAt: end.startedFirst,
    place: `the last ${end.checks} checks, from check ${end.first + 1} (${timeText(end.startedFirst)}) on, are ${way}`,
    cause: stepCause(end),
    size: courseChange(end.change, course),
    isSlower: isSlower(end.change, course),
  };
}

function behindFinding({ machine, change }: NonNullable<Course["behind"]>, course: Course): HistoryFinding {
  return {
    kind: "slower machine",
    from: course.points[0]!.check,
    to: course.points.at(-1)!.check,
    startedAt: null,
    place: `slower than ${machine}`,
    cause: "",
    size: courseChange(change, course),
    isSlower: true,
  };
}

function newestFinding(newest: NonNullable<Course["newest"]>, course: Course): HistoryFinding {
  return {
    kind: "newest",
    from: newest.check,
    to: newest.check,
    startedAt: null,
    place: `the newest check differs from the median of the ${newest.checksBefore} before by more than their noise`,
    cause: "",
    size:
      courseChange(newest.change, course) +
      (newest.figure === null ? "" : `, ${courseFigure(newest.figure, course)}`),
    isSlower: isSlower(newest.change, course),
  };
}

/** "newest 27.1 GB/s, 50.0 % below the median of 28 checks before"; null for a single check. */
export function newestText({ newest, ...course }: Course): string | null {
  if (newest === null) return null;
  const { figure, change, checksBefore } = newest;
  const text = courseChange(change, course);
  const distance = /^[−+]/.test(text) ? `${text.slice(1)} ${change < 0 ? "below" : "above"}` : "at";
  const shown = figure === null ? "" : ` ${courseFigure(figure, course)},`;
  return `newest${shown} ${distance} the median of ${counted(checksBefore, "check")} before`;
}

/** The findings in the order of the checks: one note for all courses with the same finding at the same place. */
export function findingsOf(courses: readonly Course[]): Note[] {
  const findings = courses.flatMap((course) =>
    courseFindings(course).map((finding) => ({ ...finding, name: course.name })),
  );
  const places = groupBy(
    findings.sort((a, b) => a.from - b.from),
    ({ place, cause }) => place + cause,
  );
  return [...places.values()].map((members) => {
    const { place, cause } = members[0]!;
    const sizes = members.map(({ name, size }) => `${name} ${size}`);
    const text = `${place}: ${sizes.join(", ")}${cause === "" ? "" : `; ${cause}`}`;
    return note(text, members.some(({ isSlower }) => isSlower) ? "warning" : "plain");
  });
}

const kindsInOrder = ["step", "drift", "outage", "step at the end", "slower machine", "newest"] as const;

/** Counts by kind: "2 steps, 1 drift and 1 outage". The newest check counts only if nothing else was found. */
export function foundIn(courses: readonly Course[]): string {
  const byKind = groupBy(courses.flatMap(courseFindings), ({ kind }) => kind);
  const found = kindsInOrder.flatMap((kind) => {
    const count = byKind.get(kind)?.length ?? 0;
    if (count === 0 || (kind === "newest" && byKind.size > 1)) return [];
    if (kind === "newest") return ["the newest check is far off"];
    return [kind === "step at the end" ? `${counted(count, "step")} at the end` : counted(count, kind)];
  });
  return listed(found);
}

/** "the last at check 61 (2026-03-02 05:00 UTC), to slower figures"; null if no course changed permanently. */
export function lastChange(courses: readonly Course[]): string | null {
  const changes = courses
    .flatMap(courseFindings)
    .flatMap(({ startedAt, ...change }) => (startedAt === null ? [] : [{ ...change, startedAt }]))
    .map((change) => ({ ...change, at: change.kind === "drift" ? change.to : change.from }));
  if (changes.length === 0) return null;
  const at = Math.max(...changes.map((change) => change.at));
  const last = changes.filter((change) => change.at === at);
  const slower = last.filter(({ isSlower }) => isSlower).length;
  const way = slower === last.length ? "slower" : slower === 0 ? "faster" : "slower and to faster";
  const { kind, startedAt } = last[0]!;
  return `the last ${kind === "drift" ? "up to" : "at"} check ${at + 1} (${timeText(startedAt)}), to ${way} figures`;
}
