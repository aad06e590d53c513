import { area, line, symbol } from "d3-shape";
import type { ChartPoint, Curve, CurveChart } from "./chart.js";
import { axes, chartWidth, type Frame, frameOf, lineHeight, ruleLine, textPixels } from "./chart-frame.js";
import { curveStyle, styleClass } from "./curve-styles.js";
import { element, type Markup } from "./markup.js";

/** The content of the picture, and how high it is. */
export interface Drawing {
  height: number;
  content: Markup[];
}

/** Square pixels of a point's mark. */
const markArea = 42;

/** Curves with their intervals as bands, rules, and a legend above. */
export function drawCurves({ x, y, curves, rules }: CurveChart): Drawing {
  const points = curves.flatMap((curve) => curve.points);
  const ys = points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]);
  const ruled = (axis: "x" | "y") => rules.filter((rule) => rule.axis === axis).map(({ value }) => value);
  const legend = legendOf(curves);
  const frame = frameOf(legend.height, x, [...points.map((point) => point.x), ...ruled("x")], y, [
    ...ys,
    ...ruled("y"),
  ]);
  return {
    height: frame.height,
    content: [
      ...legend.content,
      ...axes(frame, x, y),
      ...rules.map((rule) => ruleLine(frame, rule)),
      ...curves.map((curve, index) => curveOf(curve, index, frame)),
    ],
  };
}

function curveOf({ name, style, isJoined, points }: Curve, index: number, frame: Frame): Markup {
  const ordered = [...points].sort((a, b) => a.x - b.x);
  const banded = ordered.filter(({ low, high }) => low !== null && high !== null);
  const band = area<ChartPoint>()
    .x((point) => frame.x(point.x))
    .y0((point) => frame.y(point.low!))
    .y1((point) => frame.y(point.high!));
  const join = line<ChartPoint>()
    .x((point) => frame.x(point.x))
    .y((point) => frame.y(point.y));
  return element(
    "g",
    { class: `curve ${styleClass(style)}`, "data-curve": index },
    isJoined && banded.length > 1 && element("path", { class: "band", d: rounded(band(banded)) }),
    isJoined && ordered.length > 1 && element("path", { class: "line", d: rounded(join(ordered)) }),
    ordered.map((point) =>
      element(
        "path",
        {
          class: point.isOpen ? "mark open" : "mark",
          transform: `translate(${rounded(`${frame.x(point.x)} ${frame.y(point.y)}`)})`,
          d: markPath(style),
        },
        element("title", {}, `${name}, ${point.text}`),
      ),
    ),
  );
}

/** The outline of a style's mark around 0. */
function markPath(style: number): string {
  return rounded(symbol(curveStyle(style).mark, markArea)());
}

/** d3's numbers have up to 17 digits; one decimal of a pixel is enough for an eye. */
function rounded(path: string | null): string {
  return (path ?? "").replace(/\d+\.\d+/g, (number) => String(Math.round(Number(number) * 10) / 10));
}

const sampleWidth = 30;

/** A line of the curve's style with its mark, and its name, side by side in as many rows as they need. */
function legendOf(curves: readonly Curve[]): Drawing {
  if (curves.length === 0) return { height: 0, content: [] };
  let [left, row] = [0, 0];
  const content = curves.map(({ name, style, isJoined }, index) => {
    const width = sampleWidth + 8 + textPixels(name) + 16;
    if (left > 0 && left + width > chartWidth) [left, row] = [0, row + 1];
    const middle = row * lineHeight + lineHeight / 2;
    const entry = element(
      "g",
      {
        class: `legend ${styleClass(style)}`,
        "data-curve": index,
        transform: `translate(${left} ${middle})`,
      },
      isJoined && element("path", { class: "line", d: `M0,0H${sampleWidth}` }),
      element("path", { class: "mark", transform: `translate(${sampleWidth / 2} 0)`, d: markPath(style) }),
      element("text", { x: sampleWidth + 8, y: 4 }, name),
    );
    left += width;
    return entry;
  });
  return { height: (row + 1) * lineHeight, content };
}
