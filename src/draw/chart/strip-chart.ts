import type { StripChart, StripMark, StripRow } from "./chart.js";
import {
  axisAcross,
  chartWidth,
  type Frame,
  margin,
  roomyScale,
  textPixels,
  widestPixels,
} from "./chart-frame.js";
import { type Drawing, drawRules, legendOf, markAt, markPath, ruleLabelHeight } from "./chart-marks.js";
import { styleClass } from "./curve-styles.js";
import { element, type Markup } from "./markup.js";

const rowHeight = 30;
const gap = 10;
/** Largest share of the width for labels; the rest is for the dots. */
const mostLabelShare = 0.45;

/** Indices of their styles in `curveStyles`. */
const [dotStyle, markStyle] = [0, 1];
/** Square pixels of a dot, and its largest distance from the middle of its row, so that many dots look like many. */
const dotArea = 9;
const mostAside = 9;

/** Rows of dots above an axis, with larger marks for the marked ones. */
export function drawStrips({ x, rows, rules, dotsName, marksName }: StripChart): Drawing {
  const hasMarks = rows.some(({ marks }) => marks.length > 0);
  const legend = legendOf([
    { name: dotsName, style: dotStyle },
    ...(hasMarks ? [{ name: marksName, style: markStyle }] : []),
  ]);
  const labels = rows.map(({ label }) => cutOff(label));
  const left = widestPixels(labels) + gap;
  const right = chartWidth - widestPixels(rows.map(({ figure }) => figure)) - gap;
  const top = legend.height + ruleLabelHeight(rules) + margin.top;
  const bottom = top + rows.length * rowHeight;
  const values = rows.flatMap(({ dots, marks }) => [...dots, ...marks.map(({ value }) => value)]);
  const across = roomyScale(x, [...values, ...rules.map(({ value }) => value)]).range([left, right]);
  const frame = { x: across, y: across, left, right, top, bottom, height: bottom + margin.bottom };
  const ruled = drawRules(frame, rules);
  const middleOf = (index: number) => top + (index + 0.5) * rowHeight;
  const place = (value: number) => across(value).toFixed(1);
  return {
    height: frame.height,
    content: [
      ...legend.content,
      ...axisAcross(frame, x),
      ...ruled.map(({ line }) => line),
      ...rows.flatMap(({ figure }, index) => [
        element("text", { x: left - gap, y: middleOf(index) + 4, "text-anchor": "end" }, labels[index]),
        element("text", { x: chartWidth, y: middleOf(index) + 4, "text-anchor": "end" }, figure),
      ]),
      // Like a curve of other charts, each entry of the legend is one group.
      element(
        "g",
        { class: `curve ${styleClass(dotStyle)}`, "data-curve": 0 },
        rows.map((row, index) => element("path", { class: "dots", d: cloud(row, middleOf(index), across) })),
      ),
      element(
        "g",
        { class: `curve ${styleClass(markStyle)}`, "data-curve": 1 },
        rows.map(({ label, marks }, index) => [
          ...marks.map(({ value, text }) =>
            element(
              "path",
              {
                class: "mark",
                transform: `translate(${place(value)} ${middleOf(index)})`,
                d: markPath(markStyle),
              },
              element("title", {}, `${label}, ${text}`),
            ),
          ),
          namesOf(marks, middleOf(index), across),
        ]),
      ),
      ...ruled.map(({ label }) => label),
    ],
  };
}

/** From the golden ratio: its multiples fill a row evenly, and in the same way each time. */
const step = (Math.sqrt(5) - 1) / 2;

function cloud({ dots }: StripRow, middle: number, across: (value: number) => number): string {
  const aside = (index: number) => (((index * step) % 1) * 2 - 1) * mostAside;
  return dots.map((value, index) => markAt(dotStyle, dotArea, across(value), middle + aside(index))).join("");
}

/** Names of marks, the lowest first, as far as there is room; the lowest one has the number of marks without a name. */
function namesOf(marks: StripRow["marks"], middle: number, across: Frame["x"]): Markup[] {
  const [lowest, ...others] = [...marks].sort((a, b) => a.value - b.value);
  if (lowest === undefined) return [];
  const [left, right] = across.range() as [number, number];
  const taken = marks.map(({ value }) => [across(value) - nameGap, across(value) + nameGap] as const);
  const isFree = (from: number, to: number) =>
    from >= left && to <= right && taken.every(([start, end]) => to <= start || from >= end);
  const drawn = (name: string, isLeft: boolean, at: number) => {
    const place = isLeft
      ? { x: at - nameGap, "text-anchor": "end" }
      : { x: Math.min(at + nameGap, right - textPixels(name)) };
    return element("text", { class: "halo", y: middle + 4, ...place }, name);
  };
  // Its name may grow by that number.
  const most = `${shortName(lowest)}${others.length === 0 ? "" : ` +${others.length}`}`;
  const at = across(lowest.value);
  const isLeft = at - nameGap - textPixels(most) >= left;
  taken.push(isLeft ? [at - nameGap - textPixels(most), at] : [at, at + nameGap + textPixels(most)]);
  const named = others.flatMap((mark) => {
    const [name, x] = [shortName(mark), across(mark.value)];
    const sides = [
      [x - nameGap - textPixels(name), x - nameGap],
      [x + nameGap, x + nameGap + textPixels(name)],
    ] as const;
    const side = sides.findIndex(([from, to]) => isFree(from, to));
    if (side === -1) return [];
    taken.push(sides[side]!);
    return [drawn(name, side === 0, x)];
  });
  const nameless = others.length - named.length;
  return [drawn(`${shortName(lowest)}${nameless === 0 ? "" : ` +${nameless}`}`, isLeft, at), ...named];
}

/** Most letters of a mark's name, and pixels between the two. */
const [mostName, nameGap] = [18, 8];

function shortName({ name }: StripMark): string {
  return name.length > mostName ? `${name.slice(0, mostName - 1)}…` : name;
}

/** The texts of the row's marks and the table still have what is cut off. */
function cutOff(label: string): string {
  const most = Math.floor((chartWidth * mostLabelShare * label.length) / textPixels(label));
  return label.length <= most ? label : `${label.slice(0, most - 1)}…`;
}
