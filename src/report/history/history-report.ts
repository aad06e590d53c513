import type { Course, CourseDrift, CourseStep, HistoryDocument } from "../../compare/history-document.js";
import type { HistoryFormat, PictureFormat } from "../../settings/choices.js";
import { absentFigure } from "../cell-figure.js";
import { cellNames } from "../cell-name.js";
import { formatByExtension } from "../format-by-extension.js";
import { formatChange, formatGBps, formatMicroseconds, roundUp } from "../format-number.js";
import { jsonReport } from "../json.js";
import { alertBlocks, escapeMarkdown, factItem, listItem, markdownGrid } from "../markdown-text.js";
import { printableDocument } from "../printable-text.js";
import {
  type Fact,
  type Figure,
  figure,
  type Grid,
  groupBy,
  type Note,
  note,
  numberColumn,
  spared,
  wordColumn,
} from "../report-parts.js";
import type { Screen } from "../screen.js";
import { roomBeside } from "../terminal-grid.js";
import { terminalReport } from "../terminal-report.js";
import { joinBlocks } from "../terminal-text.js";
import { counted, listed, timeText } from "../wording.js";
import { sparkline } from "./sparkline.js";

const formatOfExtension = { ".json": "json", ".md": "markdown", ".txt": "table" } as const;

/** The format that an `--output` path asks for by its extension. Throws a usage error where it names none. */
export function historyFormatOfPath(path: string): HistoryFormat | PictureFormat {
  return formatByExtension(path, formatOfExtension);
}

/** The whole text of a history in one format. The table is drawn for the screen. */
export function renderHistory(history: HistoryDocument, format: HistoryFormat, screen: Screen): string {
  return renderers[format](format === "json" ? history : printableDocument(history), screen);
}

const renderers: Readonly<Record<HistoryFormat, (history: HistoryDocument, screen: Screen) => string>> = {
  table: historyTable,
  json: jsonReport,
  markdown: historyMarkdown,
};

function historyTable(document: HistoryDocument, screen: Screen): string {
  const history = withNames(document, screen);
  const { findings, notes, ...content } = historyContent(history, roomForCurve(history, screen));
  const report = {
    title: `pinbench ${history.tool.version} history`,
    ...content,
    notes: [...findings, ...notes],
  };
  return terminalReport(report, screen);
}

/** What every output for people shows of a history, before it is drawn. */
export function historyContent(history: HistoryDocument, curveWidth = usualCurve) {
  return {
    alerts: alertsOf(history),
    answer: [note(conclusionOf(history))],
    facts: factsOf(history),
    grids: gridsOf(history, curveWidth),
    findings: findingsOf(history.courses),
    notes: notesOf(history),
  };
}

function historyMarkdown(document: HistoryDocument, screen: Screen): string {
  const history = withNames(document, screen);
  return joinBlocks([
    [`## pinbench history: ${escapeMarkdown(conclusionOf(history))}`],
    ...alertBlocks(alertsOf(history)),
    ...gridsOf(history, usualCurve).map(markdownGrid),
    [...findingsOf(history.courses), ...notesOf(history)].map(listItem),
    factsOf(history).map(factItem),
  ]);
}

/** The same with cells called by their names, which the document has by their ids. */
export function withNames(history: HistoryDocument, screen: Pick<Screen, "showsIds">): HistoryDocument {
  const isCell = ({ kind, ids }: Course) => kind === "cell" && ids.length === 1;
  const nameOf = cellNames(
    history.courses.filter(isCell).flatMap(({ ids }) => ids),
    screen,
  );
  const courses = history.courses.map((course) => {
    const [id = ""] = course.ids;
    return isCell(course) && course.name.startsWith(id)
      ? { ...course, name: nameOf(id) + course.name.slice(id.length) }
      : course;
  });
  return { ...history, courses };
}

function alertsOf({ notice }: HistoryDocument): Note[] {
  return notice === null ? [] : [note(notice, "warning")];
}

function factsOf({ path, checks }: HistoryDocument): Fact[] {
  const [first, last] = [checks[0], checks.at(-1)];
  if (first === undefined || last === undefined) return [["History", `${path}, no check`]];
  const period =
    first === last
      ? `of ${timeText(first.startedAt)}`
      : `from ${timeText(first.startedAt)} to ${timeText(last.startedAt)}`;
  const outcomes = [...groupBy(checks, ({ outcome }) => outcome)].map(
    ([outcome, members]) => `${members.length} ${outcome}`,
  );
  return [
    ["History", `${path}, ${counted(checks.length, "check")} ${period}`],
    ["Outcomes", listed(outcomes)],
  ];
}

/** So many columns of blocks stand beside the figures where nothing says how wide the page is; with fewer, no course is seen. */
const usualCurve = 40;
const narrowestCurve = 12;

/** How many columns of blocks the screen has room for; 0 where blocks would say nothing. */
function roomForCurve(history: HistoryDocument, screen: Screen): number {
  if (screen.isPlain) return 0;
  const rooms = gridsOf(history, 0).map((grid) => roomBeside(grid, screen));
  return Math.max(narrowestCurve, ...rooms);
}

/** `curveWidth` is the room for a course's curve; 0 for none. */
function gridsOf({ courses, checks }: HistoryDocument, curveWidth: number): Grid[] {
  if (courses.length === 0) return [];
  const columns = [
    wordColumn("course"),
    spared(numberColumn("cells"), 1),
    numberColumn("median"),
    ...(curveWidth === 0 ? [] : [wordColumn("change")]),
    numberColumn("last"),
    spared(numberColumn("least"), 2),
    spared(numberColumn("most"), 3),
    spared(numberColumn("noise"), 4),
  ];
  return [{ columns, rows: courses.map((course) => rowOf(course, checks.length, curveWidth)) }];
}

function rowOf(course: Course, checks: number, curveWidth: number): Figure[] {
  const { name, ids, median, unit, points, noise } = course;
  const changes = points.map(({ change }) => change);
  const changeFigure = (change: number) => figure(changeText(change, course));
  const medianText = () =>
    unit === "us" ? `${formatMicroseconds(median!)} µs` : `${formatGBps(median!)} GB/s`;
  return [
    figure(name),
    figure(String(ids.length)),
    median === null ? absentFigure : figure(medianText()),
    ...(curveWidth === 0 ? [] : [figure(sparkline(course, checks, curveWidth))]),
    changeFigure(changes.at(-1)!),
    changeFigure(Math.min(...changes)),
    changeFigure(Math.max(...changes)),
    noise === null ? absentFigure : figure(`${roundUp(noise * 100, 2)} %`),
  ];
}

/** Rounded towards the slower, which for a time is more. */
export function changeText(change: number, { unit }: Pick<Course, "unit">): string {
  return formatChange(change, unit === "us" ? "up" : "down");
}

/** A change with its interval: "−5.2 % (−5.6 to −4.8 %)". */
export function withInterval({ change, low, high }: CourseStep | CourseDrift, course: Course): string {
  const from = formatChange(low, "down").replace(/ %$/, "");
  return `${changeText(change, course)} (${from} to ${formatChange(high, "up")})`;
}

/** Whether a change of a course is one for the worse. */
export function isSlower(change: number, { unit }: Course): boolean {
  return unit === "us" ? change > 0 : change < 0;
}

/** With fewer, hardly a step can be told from noise: the criterion's price is then several times the usual one. */
const fewestForSteps = 8;

/** What the columns mean, and what was left out of the file. */
function notesOf(history: HistoryDocument): Note[] {
  const { courses, notes, checks } = history;
  const legend =
    "change, last, least and most are relative to the median of all checks; noise is the standard deviation between checks beside steps and drifts";
  const isTooShort = checks.length > 0 && checks.length < fewestForSteps;
  return [
    ...(courses.length === 0 ? [] : [note(legend, "muted")]),
    ...(isTooShort ? [note(`below ${fewestForSteps} checks hardly a step can be told from noise`)] : []),
    ...notes.map((text) => note(`note: ${text}`)),
  ];
}

/** A step or a drift of one course, and the words that it may share with those of others. */
interface Finding {
  /** The first check that it is seen in. */
  from: number;
  /** "step between …", "drift from … to …". */
  place: string;
  /** What is to be known of the place besides; empty for nothing. */
  cause: string;
  course: string;
  isSlower: boolean;
}

/** What was found, in the order of the checks: one note for all courses that changed at the same place. */
function findingsOf(courses: readonly Course[]): Note[] {
  const findings = courses.flatMap((course): Finding[] => [
    ...course.steps.map((step) => ({
      from: step.after,
      place: `step ${stepPlace(step)}`,
      cause: `; ${stepCause(step)}`,
      course: `${course.name} ${withInterval(step, course)}`,
      isSlower: isSlower(step.change, course),
    })),
    ...course.drifts.map((drift) => ({
      from: drift.first,
      place: `drift ${driftPlace(drift)}`,
      cause: "",
      course: `${course.name} ${withInterval(drift, course)}`,
      isSlower: isSlower(drift.change, course),
    })),
  ]);
  const places = groupBy(
    findings.sort((a, b) => a.from - b.from),
    ({ place, cause }) => place + cause,
  );
  return [...places.values()].map((members) => {
    const { place, cause } = members[0]!;
    const text = `${place}: ${members.map(({ course }) => course).join(", ")}${cause}`;
    return note(text, members.some(({ isSlower }) => isSlower) ? "warning" : "plain");
  });
}

function stepPlace({ before, after, earliest, latest, startedBefore, startedAfter }: CourseStep): string {
  const place = `between check ${before + 1} (${timeText(startedBefore)}) and ${after + 1} (${timeText(startedAfter)})`;
  return earliest === latest
    ? place
    : `${place}, perhaps as early as check ${earliest + 1} or as late as ${latest + 1}`;
}

/** What is recorded that changed at a step. */
export function stepCause({ differences }: CourseStep): string {
  if (differences.length === 0) return "nothing that is recorded changed there";
  return `changed there: ${listed(differences.map(({ fact, before, after }) => `${fact} ${before} → ${after}`))}`;
}

function driftPlace({ first, last, startedFirst, startedLast }: CourseDrift): string {
  return `from check ${first + 1} (${timeText(startedFirst)}) to ${last + 1} (${timeText(startedLast)})`;
}

/** What it comes to: how many courses changed, and when and which way they last did. */
function conclusionOf({ checks, courses, path }: HistoryDocument): string {
  if (checks.length === 0) return `${path} holds no check yet`;
  if (courses.length === 0) return "no check has a figure";
  if (checks.length === 1)
    return "one check is no course yet: each further one is compared with those before";
  const changed = courses.filter(({ steps, drifts }) => steps.length + drifts.length > 0);
  const inChecks = `in ${counted(checks.length, "check")}`;
  if (changed.length === 0)
    return `no step and no drift was found ${inChecks} (${counted(courses.length, "course")})`;
  const steps = changed.reduce((sum, course) => sum + course.steps.length, 0);
  const drifts = changed.reduce((sum, course) => sum + course.drifts.length, 0);
  const found = [
    ...(steps === 0 ? [] : [counted(steps, "step")]),
    ...(drifts === 0 ? [] : [counted(drifts, "drift")]),
  ];
  return `${changed.length} of ${counted(courses.length, "course")} changed ${inChecks}: ${listed(found)}, ${lastChange(changed)}`;
}

/** "the last at check 61 (2026-03-02 05:00 UTC), to slower figures": of at least one course with a step or a drift. */
function lastChange(courses: readonly Course[]): string {
  const changes = courses.flatMap((course) => [
    ...course.steps.map((step) => ({
      at: step.after,
      startedAt: step.startedAfter,
      by: step,
      course,
      how: "at",
    })),
    ...course.drifts.map((drift) => ({
      at: drift.last,
      startedAt: drift.startedLast,
      by: drift,
      course,
      how: "up to",
    })),
  ]);
  const at = Math.max(...changes.map((change) => change.at));
  const last = changes.filter((change) => change.at === at);
  const slower = last.filter(({ by, course }) => isSlower(by.change, course)).length;
  const way = slower === last.length ? "slower" : slower === 0 ? "faster" : "slower and to faster";
  const { how, startedAt } = last[0]!;
  return `the last ${how} check ${at + 1} (${timeText(startedAt)}), to ${way} figures`;
}
