import type { ForestChart, ForestKind, ForestRow } from "./chart.js";
import {
  axisAcross,
  chartWidth,
  type Frame,
  margin,
  roomyScale,
  textPixels,
  widestPixels,
} from "./chart-frame.js";
import { type Drawing, legendOf, markPath } from "./chart-marks.js";
import { styleClass } from "./curve-styles.js";
import { type Content, element, type Markup } from "./markup.js";

const rowHeight = 18;
const gap = 10;
/** Largest share of the width for labels and figures; the rest is for the marks. */
const mostLabelShare = 0.42;

/**
 * An interval is shown up to this multiple of the outermost mark or limit. The rest is cut off with an arrow, so that
 * one unknown row does not shrink all others to a point.
 */
const mostReach = 2.5;

/** Changes as marks with intervals as lines, one row each, with lines at 0 and at the limits. */
export function drawForest({ x, kinds, rows, limitName }: ForestChart): Drawing {
  const legend = legendOf(kinds);
  const labels = rows.map(({ label }) => cutOff(label));
  const left = widestPixels(labels) + gap;
  const right = chartWidth - widestPixels(rows.map(({ figure }) => figure)) - gap;
  const top = legend.height + (limitName === null ? 0 : rowHeight) + 8;
  const bottom = top + rows.length * rowHeight + 4;
  const frame = { x: roomyScale(x, extent(rows)).range([left, right]), left, right, top, bottom };
  const middleOf = (index: number) => top + (index + 0.5) * rowHeight + 2;
  const zero = frame.x(0);
  return {
    height: bottom + margin.bottom,
    content: [
      ...legend.content,
      ...axisAcross(frame, x),
      element("line", { class: "zero", x1: zero, x2: zero, y1: top, y2: bottom }),
      ...(limitName === null ? [] : limitLines(rows, limitName, frame)),
      ...rows.flatMap(({ figure }, index) => [
        element("text", { x: left - gap, y: middleOf(index) + 4, "text-anchor": "end" }, labels[index]),
        element("text", { x: chartWidth, y: middleOf(index) + 4, "text-anchor": "end" }, figure),
      ]),
      // Like a curve of other charts, each entry of the legend is one group.
      ...kinds.map((kind, index) =>
        element(
          "g",
          { class: `curve ${styleClass(kind.style)}`, "data-curve": index },
          rows.map((row, place) => row.kind === index && rowMark(row, kind, middleOf(place), frame)),
        ),
      ),
    ],
  };
}

/** The row's own text still has what is cut off. */
function cutOff(label: string): string {
  const most = Math.floor((chartWidth * mostLabelShare) / textPixels("x"));
  return label.length <= most ? label : `${label.slice(0, most - 1)}…`;
}

/** The values that the axis has to show. */
function extent(rows: readonly ForestRow[]): number[] {
  const certain = [0, ...rows.flatMap(({ value, limits }) => [value, ...limits])];
  const reach = mostReach * Math.max(...certain.map(Math.abs));
  const ends = rows.flatMap(({ low, high }) => [low ?? 0, high ?? 0]);
  return [...certain, ...ends.map((end) => Math.max(-reach, Math.min(reach, end)))];
}

/** A dashed line through all consecutive rows with the same limit, with its meaning at the first. */
function limitLines(rows: readonly ForestRow[], name: string, { x, top, left, right }: Area): Markup[] {
  const most = Math.max(...rows.map(({ limits }) => limits.length));
  const lines = Array.from({ length: most }, (_, which) => {
    const path = rows.map(({ limits }, index) => {
      const limit = limits[which];
      if (limit === undefined) return "";
      const goesOn = index > 0 && rows[index - 1]!.limits[which] === limit;
      const start = `M${x(limit).toFixed(1)},${top + index * rowHeight + 2}`;
      return `${goesOn ? "" : start}V${top + (index + 1) * rowHeight + 2}`;
    });
    return element("path", { class: "rule", d: path.join("") });
  });
  const first = rows.find(({ limits }) => limits.length > 0)!.limits[0]!;
  const half = textPixels(name) / 2;
  const middle = Math.max(left + half, Math.min(right - half, x(first)));
  return [
    ...lines,
    element("text", { class: "quiet", x: middle, y: top - 6, "text-anchor": "middle" }, name),
  ];
}

type Area = Pick<Frame, "x" | "top" | "left" | "right">;

function rowMark(row: ForestRow, { name, style, isOpen }: ForestKind, y: number, area: Area): Content[] {
  const { value, low, high, text } = row;
  return [
    low !== null && high !== null && element("path", { class: "whisker", d: whisker(low, high, y, area) }),
    element(
      "path",
      {
        class: isOpen === true ? "mark open" : "mark",
        transform: `translate(${area.x(value).toFixed(1)} ${y})`,
        d: markPath(style),
      },
      element("title", {}, `${text} (${name})`),
    ),
  ];
}

/** From end to end, with an upright stroke at each, or an arrow if it continues outside the picture. */
function whisker(low: number, high: number, y: number, { x, left, right }: Area): string {
  const [from, to] = [Math.max(left, x(low)), Math.min(right, x(high))].map((at) => at.toFixed(1));
  const start = x(low) < left ? `M${left + 5},${y - 4}L${from},${y}L${left + 5},${y + 4}` : stroke(from!, y);
  const end = x(high) > right ? `M${right - 5},${y - 4}L${to},${y}L${right - 5},${y + 4}` : stroke(to!, y);
  return `M${from},${y}H${to}${start}${end}`;
}

function stroke(at: string, y: number): string {
  return `M${at},${y - 3}v6`;
}
