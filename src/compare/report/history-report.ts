import type { DocumentKind, Show } from "../../draw/document-kind.js";
import { roundUp } from "../../draw/numbers.js";
import {
  environment,
  type Fact,
  type Figure,
  figure,
  type Grid,
  groupBy,
  type Note,
  note,
  numberColumn,
  type Report,
  spared,
  tables,
  texts,
  wordColumn,
} from "../../draw/report.js";
import type { Screen } from "../../draw/screen.js";
import { roomBeside } from "../../draw/terminal/terminal-grid.js";
import { counted, listed, timeText } from "../../draw/words.js";
import { absentFigure } from "../../results/naming/cell-figure.js";
import { cellNames } from "../../results/naming/wording.js";
import { median } from "../../stats/order-statistics.js";
import { type Course, type HistoryDocument, historySchema } from "../history/history-document.js";
import {
  courseChange,
  courseFigure,
  findingsOf,
  foundIn,
  isChanged,
  lastChange,
} from "./history-findings.js";

/** The course of past checks, as a kind of document. */
export const historyKind: DocumentKind<HistoryDocument> = {
  schema: historySchema,
  report: historyReport,
  async pictures(document) {
    const { historyCharts } = await import("./history-charts.js");
    return { charts: historyCharts(withNames(document)) };
  },
};

function historyReport(document: HistoryDocument, { screen }: Show): Report {
  const history = withNames(document);
  const { checks, courses, path, tool } = history;
  const last = checks.at(-1);
  const until = last === undefined ? "" : ` until ${timeText(last.startedAt)}`;
  return {
    command: "history",
    version: tool.version,
    hasTerms: true,
    name: `History: ${counted(checks.length, "check")} in ${path}${until}`,
    blocks: [
      ...texts("alert", alertsOf(history)),
      ...texts("answer", [note(conclusionOf(history))]),
      environment(factsOf(history)),
      ...tables(gridsOf(history, roomForCurve(history, screen))),
      ...texts("finding", findingsOf(courses)),
      ...texts("note", notesOf(history)),
    ],
  };
}

/** The same with names in place of the document's cell ids. */
function withNames(history: HistoryDocument): HistoryDocument {
  const isCell = ({ kind, ids }: Course) => kind === "cell" && ids.length === 1;
  const nameOf = cellNames(history.courses.filter(isCell).flatMap(({ ids }) => ids));
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

function factsOf({ path, checks, courses }: HistoryDocument): Fact[] {
  const [first, last] = [checks[0], checks.at(-1)];
  if (first === undefined || last === undefined) return [["History", `${path}, no check`]];
  const period =
    first === last
      ? `of ${timeText(first.startedAt)}`
      : `from ${timeText(first.startedAt)} to ${timeText(last.startedAt)}`;
  const outcomes = [...groupBy(checks, ({ outcome }) => outcome)].map(
    ([outcome, members]) => `${members.length} ${outcome}`,
  );
  const machines = new Set(courses.flatMap(({ machine }) => (machine === null ? [] : [machine])));
  return [
    ["History", `${path}, ${counted(checks.length, "check")} ${period}`],
    ...(machines.size === 0 ? [] : [["Machines", [...machines].join("; ")] as const]),
    ["Outcomes", listed(outcomes)],
  ];
}

/** Fewest columns of blocks that show a course. */
const narrowestCurve = 12;

/** Number of columns for blocks on the screen; 0 if they would show nothing. */
function roomForCurve(history: HistoryDocument, screen: Screen): number {
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
    ...(curveWidth === 0 ? [] : [wordColumn("change", ...datesAlong(checks, curveWidth))]),
    numberColumn("newest"),
    spared(numberColumn("least"), 2),
    spared(numberColumn("most"), 3),
    spared(numberColumn("noise"), 4),
  ];
  return [
    { name: "All courses", columns, rows: courses.map((course) => rowOf(course, checks.length, curveWidth)) },
  ];
}

function rowOf(course: Course, checks: number, curveWidth: number): Figure[] {
  const { name, ids, median, points, newest, noise } = course;
  const changes = points.map(({ change }) => change);
  const changeFigure = (change: number) => figure(courseChange(change, course));
  return [
    figure(name),
    figure(String(ids.length)),
    median === null ? absentFigure : figure(courseFigure(median, course)),
    ...(curveWidth === 0 ? [] : [figure(sparkline(course, checks, curveWidth))]),
    newest === null
      ? absentFigure
      : figure(courseChange(newest.change, course), "", newest.isBeyond ? "warning" : "plain"),
    changeFigure(Math.min(...changes)),
    changeFigure(Math.max(...changes)),
    noise === null ? absentFigure : figure(`${roundUp(noise * 100, 2)} %`),
  ];
}

/**
 * Fewest checks that distinguish a step from noise: with fewer, the criterion's penalty is several times the usual one.
 */
const fewestForSteps = 8;

/** The meaning of the columns, and notes on what was left out of the file. */
function notesOf(history: HistoryDocument): Note[] {
  const { courses, notes, checks } = history;
  const legend =
    "newest is relative to the median of the checks before it; change, least and most to that of all checks; noise is the standard deviation between checks, without steps and drifts";
  const isTooShort = checks.length > 0 && checks.length < fewestForSteps;
  return [
    ...(courses.length === 0 ? [] : [note(legend, "muted")]),
    ...(isTooShort
      ? [note(`with fewer than ${fewestForSteps} checks, a step is hard to distinguish from noise`)]
      : []),
    ...notes.map((text) => note(`note: ${text}`)),
  ];
}

/** The conclusion: how many courses changed, what was found, and when and how they last changed. */
function conclusionOf({ checks, courses, path }: HistoryDocument): string {
  if (checks.length === 0) return `${path} holds no check yet`;
  if (courses.length === 0) return "no check has a figure";
  if (checks.length === 1)
    return "one check is not a course yet: each further check is compared with those before";
  const changed = courses.filter(isChanged);
  const inChecks = `in ${counted(checks.length, "check")}`;
  if (changed.length === 0)
    return `no step and no drift was found ${inChecks} (${counted(courses.length, "course")})`;
  const last = lastChange(changed);
  return `${changed.length} of ${counted(courses.length, "course")} changed ${inChecks}: ${foundIn(changed)}${last === null ? "" : `, ${last}`}`;
}

const blocks = "▁▂▃▄▅▆▇█";

/** Smallest range of a line, as a share of the figure: smaller changes use only a part of the height. */
const leastRange = 0.02;

/**
 * The course as one line of blocks, one column a check, or the median of several if there are more than `width`. Its
 * height is from the least to the largest change, but at least 2 %; a check without the figure is a blank.
 */
export function sparkline({ points }: Pick<Course, "points">, checks: number, width: number): string {
  const columns = Math.min(width, checks);
  const drawn = Array.from({ length: columns }, (_, column) => {
    const isOf = (check: number) => Math.floor((check * columns) / checks) === column;
    const changes = points.filter(({ check }) => isOf(check)).map(({ change }) => change);
    return changes.length === 0 ? null : median(changes);
  });
  const known = drawn.filter((change) => change !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const range = Math.max(leastRange, most - least);
  const bottom = (least + most - range) / 2;
  const block = (change: number) => {
    const height = Math.floor(((change - bottom) / range) * blocks.length);
    return blocks[Math.max(0, Math.min(blocks.length - 1, height))]!;
  };
  return drawn.map((change) => (change === null ? " " : block(change))).join("");
}

/** The dates of the first and the last check as the head of such lines: one line, or two if `width` has no room for both. */
export function datesAlong(checks: readonly { startedAt: string }[], width: number): string[] {
  const [first, last] = [checks[0], checks.at(-1)].map((check) => check?.startedAt.slice(0, 10) ?? "");
  const line = `${first} – ${last}`;
  return line.length <= width ? [line] : [`${first} –`, last!];
}
