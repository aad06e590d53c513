import { scaleUtc } from "d3-scale";
import type { Axis, ChartPoint, Curve, CurveChart, RuleLine } from "../../draw/chart/chart.js";
import { extremesOf } from "../../draw/chart/chart-frame.js";
import { formatChangeTick } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import { capital, counted, listed, timeText } from "../../draw/words.js";
import { median } from "../../stats/order-statistics.js";
import { mean } from "../../stats/variance.js";
import type { Course, HistoryDocument } from "../history/history-document.js";
import { courseChange, courseFigure, courseFindings, newestText } from "./history-findings.js";

/** A chart of each course, from check to check. */
export function historyCharts(history: HistoryDocument): CurveChart[] {
  const names = uniqueNames(history.courses.map(({ name }) => name));
  return history.courses.flatMap((course, index) => chartOf(course, names[index]!, history));
}

/** "H2D pinned" is "history-h2d-pinned"; a number distinguishes equal names. */
function uniqueNames(texts: readonly string[]): string[] {
  const counts = new Map<string, number>();
  return texts.map((text) => {
    const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? ["course"];
    const name = `history-${words.join("-")}`;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name}-${count}`;
  });
}

/** Styles of checks by outcome; the last one is for outcomes of later versions. */
const styleOfOutcome: ReadonlyMap<string, number> = new Map([
  ["pass", 0],
  ["regression", 1],
  ["failed", 4],
  ["mismatch", 4],
  ["inconclusive", 3],
]);
const otherStyle = 7;
const levelStyle = 5;

function chartOf(course: Course, name: string, { checks }: HistoryDocument): CurveChart[] {
  const points = course.points.flatMap(({ check, change }) => {
    const made = checks[check];
    return made === undefined ? [] : [{ check, change, ...made }];
  });
  if (points.length < 2) return [];
  const dateOf = (check: number) => dayOf(checks[check]?.startedAt ?? points.at(-1)!.startedAt);
  const outcomes = groupBy(points, ({ outcome }) => outcome);
  const curves = [...outcomes].map(
    ([outcome, members]): Curve => ({
      name: `check: ${outcome}`,
      style: styleOfOutcome.get(outcome) ?? otherStyle,
      isJoined: false,
      points: members.map(({ check, change, startedAt }) => ({
        x: dayOf(startedAt),
        y: change,
        low: null,
        high: null,
        text: `check ${check + 1} (${timeText(startedAt)}): ${courseChange(change, course)}${absolute(change, course)}`,
      })),
    }),
  );
  return [
    {
      kind: "curves",
      name,
      title: `${course.name}, from check to check`,
      description: describe(course, points.length),
      x: { label: "date of the check (UTC)", scale: "linear", ...dateAxis(points) },
      y: { label: "change from the median", scale: "linear", format: formatChangeTick },
      curves: [levels(course, dateOf), ...curves],
      rules: stepRules(course, dateOf),
    },
  ];
}

const msPerDay = 864e5;

/** Days since 1970. */
function dayOf(startedAt: string): number {
  return Date.parse(startedAt) / msPerDay;
}

/** Approximate number of marks, because their names are long. */
const dateTicks = 8;
/** A history shorter than this has times of day at its marks. */
const shortDays = 3;

/** Marks at round dates, or times of day. */
function dateAxis(checks: readonly { startedAt: string }[]): Pick<Axis, "ticks" | "format"> {
  const [first, last] = extremesOf(checks.map(({ startedAt }) => dayOf(startedAt)));
  const isShort = last - first < shortDays;
  const scale = scaleUtc().domain([first * msPerDay, last * msPerDay]);
  return {
    ticks: scale.ticks(dateTicks).map((date) => date.getTime() / msPerDay),
    format: (value) => {
      const date = new Date(Math.round(value * msPerDay)).toISOString();
      return isShort ? date.slice(5, 16).replace("T", " ") : date.slice(0, 10);
    },
  };
}

/** ", 52.6 GB/s"; empty for a group, whose cells have different figures. */
function absolute(change: number, course: Course): string {
  const { median } = course;
  if (median === null) return "";
  return `, ${courseFigure(median * (1 + change), course)}`;
}

function describe(course: Course, checks: number): string {
  const { noise } = course;
  const found = courseFindings(course)
    .filter(({ kind }) => kind !== "newest")
    .map(({ place, size, cause }) => `${place}: ${size}${cause === "" ? "" : `; ${cause}`}`);
  const spread =
    noise === null ? "" : ` Apart from that, checks differ by ${formatChangeTick(noise).replace("+", "")}.`;
  const newest = newestText(course);
  const end = newest === null ? "" : ` ${capital(newest)}.`;
  return `${counted(checks, "check")}: ${listed(found) || "no step and no drift"}.${end}${spread}`;
}

/** Lines between the last check before a step and the first one after it. */
function stepRules(course: Course, dateOf: (check: number) => number): RuleLine[] {
  const { steps, endStep } = course;
  const end = endStep === null ? [] : [{ ...endStep, before: endStep.first - 1, after: endStep.first }];
  return [...steps, ...end].map(({ before, after, change, differences }) => {
    const causes = differences.map((one) => `${one.fact} ${one.before} → ${one.after}`);
    const cause = causes.length === 0 ? "" : `: ${listed(causes)}`;
    return {
      axis: "x",
      value: (dateOf(before) + dateOf(after)) / 2,
      label: `${courseChange(change, course)}${cause}`,
    };
  });
}

/** Levels between steps and slopes of drifts as one line: medians, and least squares for drifts. */
function levels(course: Course, dateOf: (check: number) => number): Curve {
  const { steps, drifts, points } = course;
  const knots: ChartPoint[] = [];
  const add = (check: number, y: number) =>
    knots.push({
      x: dateOf(check),
      y,
      low: null,
      high: null,
      text: `level at check ${check + 1}: ${formatChangeTick(y)}`,
    });
  const ends = [...steps.map(({ after }) => after), Number.POSITIVE_INFINITY].sort((a, b) => a - b);
  let start = Number.NEGATIVE_INFINITY;
  for (const end of ends) {
    const members = points.filter(({ check }) => check >= start && check < end);
    start = end;
    const drift = drifts.find(({ first, last }) =>
      members.some(({ check }) => check >= first && check <= last),
    );
    const [from, to] = [members[0], members.at(-1)];
    if (from === undefined || to === undefined) continue;
    const drifting = members.filter(
      ({ check }) => drift !== undefined && check >= drift.first && check <= drift.last,
    );
    if (drift === undefined || drifting.length < 2) {
      const level = median(members.map(({ change }) => change));
      add(from.check, level);
      add(to.check, level);
      continue;
    }
    const line = leastSquares(drifting);
    const [first, last] = [drifting[0]!.check, drifting.at(-1)!.check];
    for (const check of [from.check, first, last, to.check])
      add(check, line(Math.max(first, Math.min(last, check))));
  }
  return { name: "level", style: levelStyle, isJoined: true, hasNoMarks: true, points: knots };
}

/** The straight line through two points or more of different checks. */
function leastSquares(points: readonly Course["points"][number][]): (check: number) => number {
  const [x, y] = [mean(points.map(({ check }) => check)), mean(points.map(({ change }) => change))];
  const squares = points.reduce((sum, { check }) => sum + (check - x) ** 2, 0);
  const products = points.reduce((sum, { check, change }) => sum + (check - x) * (change - y), 0);
  return (check) => y + (squares === 0 ? 0 : (products / squares) * (check - x));
}
