import { area, line } from "d3-shape";
import type { Axis, ChartPoint, Curve, CurveChart } from "./chart.js";
import { axes, type Frame, frameOf, hasPlace } from "./chart-frame.js";
import {
  type Drawing,
  drawRules,
  type LegendEntry,
  legendOf,
  markAt,
  markPath,
  rounded,
  ruleLabelHeight,
} from "./chart-marks.js";
import { styleClass } from "./curve-styles.js";
import { element, type Markup } from "./markup.js";

/** Curves with their intervals as bands, rules, and a legend above. */
export function drawCurves(chart: CurveChart): Drawing {
  const { x, y, rules } = chart;
  const curves = chart.curves.map((curve) => drawable(curve, x, y));
  const points = curves.flatMap((curve) => curve.points);
  const xs = curves.flatMap(({ points, columnWidth = 0 }) =>
    points.flatMap((point) => [point.x - columnWidth / 2, point.x + columnWidth / 2]),
  );
  const ys = points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]);
  const onAxis = (axis: "x" | "y") => rules.filter((rule) => rule.axis === axis).map(({ value }) => value);
  // For a single cloud or histogram, the title is enough.
  const isAlone = curves.length === 1 && (curves[0]!.isDense || curves[0]!.columnWidth !== undefined);
  const legend = legendOf(isAlone ? [] : curves.map(legendEntry));
  const frame = frameOf(legend.height + ruleLabelHeight(rules), x, [...xs, ...onAxis("x")], y, [
    ...ys,
    ...onAxis("y"),
  ]);
  const ruled = drawRules(frame, rules);
  return {
    height: frame.height,
    content: [
      ...legend.content,
      ...axes(frame, x, y),
      ...ruled.map(({ line }) => line),
      ...curves.map((curve, index) => curveOf(curve, index, frame)),
      ...ruled.map(({ label }) => label),
    ],
  };
}

/** The curve from left to right, without values that a logarithmic axis cannot show: 0 and less. */
function drawable(curve: Curve, x: Axis, y: Axis): Curve {
  const points = curve.points
    .filter((point) => hasPlace(x, point.x) && hasPlace(y, point.y))
    .map((point) =>
      hasPlace(y, Math.min(point.low ?? point.y, point.high ?? point.y))
        ? point
        : { ...point, low: null, high: null },
    )
    .sort((a, b) => a.x - b.x);
  return { ...curve, points };
}

function legendEntry({ points, ...curve }: Curve): LegendEntry {
  return { ...curve, isOpen: points.every(({ isOpen }) => isOpen === true) };
}

function curveOf(curve: Curve, index: number, frame: Frame): Markup {
  const { style, isJoined, hasNoMarks = false, columnWidth, points } = curve;
  const join = line<ChartPoint>()
    .defined(({ isApart = false }) => !isApart)
    .x((point) => frame.x(point.x))
    .y((point) => frame.y(point.y));
  return element(
    "g",
    { class: `curve ${styleClass(style)}`, "data-curve": index },
    intervalsOf(curve, frame),
    isJoined && points.length > 1 && element("path", { class: "line", d: rounded(join(points)) }),
    !hasNoMarks && (columnWidth === undefined ? marksOf(curve, frame) : columnsOf(curve, columnWidth, frame)),
  );
}

/**
 * A band between joined neighbours with intervals, and an upright line for every other interval. A band ends at the
 * last point that has one, so it never suggests an interval without data.
 */
function intervalsOf({ isJoined, points }: Curve, frame: Frame): Markup[] {
  const band = area<ChartPoint>()
    .x((point) => frame.x(point.x))
    .y0((point) => frame.y(point.low!))
    .y1((point) => frame.y(point.high!));
  return runsWithIntervals(points, isJoined).map((run) => {
    if (run.length > 1) return element("path", { class: "band", d: rounded(band(run)) });
    const { x, low, high } = run[0]!;
    const at = frame.x(x);
    return element("line", { class: "whisker", x1: at, x2: at, y1: frame.y(low!), y2: frame.y(high!) });
  });
}

/** Lists of points with intervals; joined neighbours are in one list. */
function runsWithIntervals(points: readonly ChartPoint[], isJoined: boolean): ChartPoint[][] {
  const runs: ChartPoint[][] = [];
  points.forEach((point, index) => {
    if (point.low === null || point.high === null) return;
    const before = points[index - 1];
    const isBanded = before !== undefined && before.low !== null && before.high !== null;
    const goesOn = isJoined && isBanded && point.isApart !== true && before.isApart !== true;
    if (goesOn) runs.at(-1)!.push(point);
    else runs.push([point]);
  });
  return runs;
}

function marksOf({ name, style, isDense, points }: Curve, frame: Frame): Markup[] {
  if (isDense) {
    const size = points.length > manyDots ? smallDot : largeDot;
    const dots = points.map(({ x, y }) => markAt(style, size, frame.x(x), frame.y(y)));
    return dots.length === 0 ? [] : [element("path", { class: "dots", d: dots.join("") })];
  }
  return points.map((point) =>
    element(
      "path",
      {
        class: point.isOpen ? "mark open" : "mark",
        transform: `translate(${rounded(`${frame.x(point.x)} ${frame.y(point.y)}`)})`,
        d: markPath(style),
      },
      element("title", {}, `${name}, ${point.text}`),
    ),
  );
}

/** Number of dots from which on they are drawn smaller, so that they do not hide each other. */
const manyDots = 200;
const [smallDot, largeDot] = [14, 42];

function columnsOf({ name, points }: Curve, width: number, frame: Frame): Markup[] {
  return points.map(({ x, y, text }) => {
    const [left, right] = [frame.x(x - width / 2), frame.x(x + width / 2)];
    return element(
      "rect",
      { class: "column", x: left, width: right - left, y: frame.y(y), height: frame.y(0) - frame.y(y) },
      element("title", {}, `${name}, ${text}`),
    );
  });
}
