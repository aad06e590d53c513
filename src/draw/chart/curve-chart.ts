import { area, line } from "d3-shape";
import type { Axis, ChartPoint, Curve, CurveChart } from "./chart.js";
import { axes, type Frame, frameOf, hasPlace } from "./chart-frame.js";
import {
  type Drawing,
  drawRules,
  type LegendEntry,
  legendOf,
  markPath,
  rounded,
  ruleLabelHeight,
} from "./chart-marks.js";
import { styleClass } from "./curve-styles.js";
import { element, type Markup } from "./markup.js";

export function drawCurves(chart: CurveChart): Drawing {
  const { x, y, rules } = chart;
  const curves = clipped(chart.curves.map((curve) => drawable(curve, x, y)));
  const points = curves.flatMap((curve) => curve.points);
  const xs = points.map((point) => point.x);
  const ys = points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]);
  const onAxis = (axis: "x" | "y") => rules.filter((rule) => rule.axis === axis).map(({ value }) => value);
  const legend = legendOf(curves.map(legendEntry));
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

/** Intervals are clipped at this multiple of the largest figure, because a wider band would flatten all curves. */
const widestBand = 3;

/** The curves with intervals clipped at `widestBand`, and marks where an interval continues. */
export function clipped(curves: readonly Curve[]): ClippedCurve[] {
  const most = widestBand * Math.max(...curves.flatMap(({ points }) => points.map(({ y }) => y)));
  return curves.map((curve) => ({
    ...curve,
    points: curve.points.map((point) =>
      point.high !== null && point.high > most ? { ...point, high: most, isClipped: true } : point,
    ),
  }));
}

type ClippedPoint = ChartPoint & { isClipped?: true };
type ClippedCurve = Omit<Curve, "points"> & { points: readonly ClippedPoint[] };

/** The curve from left to right, without values that a logarithmic axis cannot show (0 and below). */
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

function curveOf(curve: ClippedCurve, index: number, frame: Frame): Markup {
  const { style, isJoined, hasNoMarks = false, points } = curve;
  const join = line<ChartPoint>()
    .defined(({ isApart = false }) => !isApart)
    .x((point) => frame.x(point.x))
    .y((point) => frame.y(point.y));
  return element(
    "g",
    { class: `curve ${styleClass(style)}`, "data-curve": index },
    intervalsOf(curve, frame),
    isJoined && points.length > 1 && element("path", { class: "line", d: rounded(join(points)) }),
    points.flatMap(({ x, high, isClipped }) =>
      isClipped === true && high !== null
        ? [
            element("path", {
              class: "whisker",
              transform: `translate(${rounded(`${frame.x(x)} ${frame.y(high)}`)})`,
              d: "M-4,6L0,0L4,6",
            }),
          ]
        : [],
    ),
    !hasNoMarks && marksOf(curve, frame),
  );
}

/**
 * Draws a band through consecutive points with intervals, and an upright line for any other interval. A band ends at
 * the last point with one, so it never suggests an interval without data.
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

function marksOf({ name, style, points }: Curve, frame: Frame): Markup[] {
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
