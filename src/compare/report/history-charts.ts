import { scaleUtc } from "d3-scale";
import {
  type Axis,
  type Curve,
  type CurveChart,
  type RuleLine,
  withUniqueNames,
} from "../../draw/chart/chart.js";
import { extremesOf } from "../../draw/chart/chart-frame.js";
import { formatChangeTick } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import { groupBy } from "../../stats/group-by.js";
import { median } from "../../stats/order-statistics.js";
import type { HistoryDocument, Trend } from "../history/history-document.js";
import { checkText, stepCause, trendChange, trendFigure, trendFindings } from "./history-findings.js";

export function historyCharts(history: HistoryDocument): CurveChart[] {
  const drawn = history.trends.filter(({ points }) => points.length > 1);
  return withUniqueNames(drawn.map((trend) => chartOf(trend, history)));
}

/** Styles of checks by outcome; the last style is for unknown outcomes. */
const styleOfOutcome: ReadonlyMap<string, number> = new Map([
  ["pass", 0],
  ["regression", 1],
  ["failed", 4],
  ["mismatch", 4],
  ["undecided", 3],
]);
const otherStyle = 7;
const levelStyle = 5;

function chartOf(trend: Trend, { checks }: HistoryDocument): CurveChart {
  const dayOfCheck = (check: number) => Date.parse(checks[check]!.startedAt) / msPerDay;
  const outcomes = groupBy(trend.points, ({ check }) => checks[check]!.outcome);
  const curves = [...outcomes].map(
    ([outcome, members]): Curve => ({
      name: `check: ${outcome}`,
      style: styleOfOutcome.get(outcome) ?? otherStyle,
      isJoined: false,
      points: members.map(({ check, change }) => ({
        x: dayOfCheck(check),
        y: change,
        low: null,
        high: null,
        text: `${checkText(check, checks)}: ${trendChange(change, trend)}${absolute(change, trend)}`,
      })),
    }),
  );
  return {
    kind: "curves",
    // "history-h2d-pinned".
    name: ["history", ...(trend.name.toLowerCase().match(/[a-z0-9]+/g) ?? [])].join("-"),
    title: `${trend.name}, from check to check`,
    description: describe(trend, checks),
    x: {
      label: "date of the check (UTC)",
      scale: "linear",
      ...dateAxis(trend.points.map(({ check }) => dayOfCheck(check))),
    },
    y: { label: "change from the median", scale: "linear", format: formatChangeTick },
    curves: [levels(trend, dayOfCheck), ...curves],
    rules: stepRules(trend, dayOfCheck),
  };
}

const msPerDay = 864e5;

/** Approximate number of axis marks; dates are wide. */
const dateTicks = 8;
/** A history of fewer days than this has times at its marks. */
const shortDays = 3;

function dateAxis(days: readonly number[]): Pick<Axis, "ticks" | "format"> {
  const [first, last] = extremesOf(days);
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

/** The absolute figure, ", 52.6 GB/s"; empty for a group, whose cells have different figures. */
function absolute(change: number, trend: Trend): string {
  return trend.median === null ? "" : `, ${trendFigure(trend.median * (1 + change), trend)}`;
}

function describe(trend: Trend, checks: HistoryDocument["checks"]): string {
  const found = trendFindings(trend, checks).map(
    ({ event, size, cause }) => `${event}: ${size}${cause === "" ? "" : `; ${cause}`}`,
  );
  const noise =
    trend.noise === null ? "" : ` Noise between checks: ${formatChangeTick(trend.noise).replace("+", "")}.`;
  return `${counted(trend.points.length, "check")}: ${found.join("; ") || "no change"}.${noise}`;
}

function stepRules(trend: Trend, dayOfCheck: (check: number) => number): RuleLine[] {
  return trend.steps.map((step) => {
    const cause = stepCause(step);
    return {
      axis: "x",
      value: (dayOfCheck(step.before) + dayOfCheck(step.after)) / 2,
      label: `${trendChange(step.change, trend)}${cause === "" ? "" : `: ${cause}`}`,
    };
  });
}

function levels({ steps, points }: Trend, dayOfCheck: (check: number) => number): Curve {
  const borders = [0, ...steps.map(({ after }) => after), Number.POSITIVE_INFINITY];
  const knots = borders.slice(1).flatMap((end, k) => {
    const members = points.filter(({ check }) => check >= borders[k]! && check < end);
    if (members.length === 0) return [];
    const level = median(members.map(({ change }) => change));
    return [members[0]!.check, members.at(-1)!.check].map((check) => ({
      x: dayOfCheck(check),
      y: level,
      low: null,
      high: null,
      text: `level at check ${check + 1}: ${formatChangeTick(level)}`,
    }));
  });
  return { name: "level", style: levelStyle, isJoined: true, hasNoMarks: true, points: knots };
}
