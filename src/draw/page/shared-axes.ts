import type { Axis, Chart } from "../chart/chart.js";
import { groupBy } from "../report.js";
import type { Chapter } from "./chapter.js";
import { sampleChartNames } from "./sample-data.js";

/**
 * The same chapters, with the axes of charts that have one name reaching as far as the widest of them: the same place in
 * two of them is the same figure, so that they can be compared by eye and laid over each other. Charts whose axes count
 * different things, as µs here and GB/s there, stay as they are, and so do those of samples: the noise of one cell would be too narrow
 * to be seen on the axis of another.
 */
export function withSharedAxes(chapters: readonly Chapter[]): Chapter[] {
  const all = chapters.flatMap(({ charts }) => charts).filter(({ name }) => !ownAxes.has(name));
  const alike = new Map(
    [...groupBy(all, keyOf).values()].flatMap((charts) => {
      const reach = reachOf(charts);
      return charts.map((chart) => [chart, charts.length > 1 ? reaching(chart, reach) : chart] as const);
    }),
  );
  return chapters.map((chapter) => ({
    ...chapter,
    charts: chapter.charts.map((chart) => alike.get(chart) ?? chart),
  }));
}

const ownAxes: ReadonlySet<string> = new Set(Object.values(sampleChartNames));

/** What charts must have in common to have the same axes. */
function keyOf(chart: Chart): string {
  const axes = axesOf(chart).map(({ label, scale }) => `${label}/${scale}`);
  return [chart.kind, chart.name, ...axes].join("//");
}

function axesOf(chart: Chart): Axis[] {
  switch (chart.kind) {
    case "curves":
      return [chart.x, chart.y];
    case "bars":
      return [chart.value];
    default:
      return [];
  }
}

/** What the charts together have on each axis: its ends, and where it is marked. */
interface Reach {
  ends: number[];
  ticks: number[] | null;
}

function reachOf(charts: readonly Chart[]): Reach[] {
  return axesOf(charts[0]!).map((_, which) => {
    const values = charts.flatMap((chart) => [
      ...(axesOf(chart)[which]!.includes ?? []),
      ...(chart.kind === "bars" ? barValues(chart) : []),
      ...(chart.kind === "curves" ? curveValues(chart, which === 0 ? "x" : "y") : []),
    ]);
    const ticks = charts.map((chart) => axesOf(chart)[which]!.ticks);
    const areMarked = ticks.every((one) => one !== undefined);
    return {
      ends: values.length === 0 ? [] : endsOf(values),
      ticks: areMarked ? [...new Set(ticks.flatMap((one) => one ?? []))].sort((a, b) => a - b) : null,
    };
  });
}

type OfKind<Kind> = Extract<Chart, { kind: Kind }>;

function barValues({ groups }: OfKind<"bars">): number[] {
  return groups.flatMap(({ bars }) => bars.flatMap(({ value, high }) => [value, high ?? value]));
}

/** As far as a curve chart draws: intervals, columns and rules too. */
function curveValues({ curves, rules, x, y }: OfKind<"curves">, axis: "x" | "y"): number[] {
  const isLog = (axis === "x" ? x : y).scale === "log";
  const ofPoints = curves.flatMap(({ points, columnWidth = 0 }) =>
    points.flatMap((point) =>
      axis === "x"
        ? [point.x - columnWidth / 2, point.x + columnWidth / 2]
        : [point.y, point.low ?? point.y, point.high ?? point.y],
    ),
  );
  const ofRules = rules.filter((rule) => rule.axis === axis).map(({ value }) => value);
  return [...ofPoints, ...ofRules].filter((value) => !isLog || value > 0);
}

function endsOf(values: readonly number[]): number[] {
  return values.reduce(
    ([least, most], value) => [Math.min(least!, value), Math.max(most!, value)],
    [values[0]!, values[0]!],
  );
}

function reaching(chart: Chart, reach: readonly Reach[]): Chart {
  const widened = (axis: Axis, { ends, ticks }: Reach): Axis => ({
    ...axis,
    includes: [...(axis.includes ?? []), ...ends],
    ...(ticks !== null && { ticks }),
  });
  switch (chart.kind) {
    case "curves":
      return { ...chart, x: widened(chart.x, reach[0]!), y: widened(chart.y, reach[1]!) };
    case "bars":
      return { ...chart, value: widened(chart.value, reach[0]!) };
    default:
      return chart;
  }
}
