import type { StripChart, StripMark, StripRow } from "./chart.js";
import { axisAcross, chartWidth, type Frame, margin, roomyScale, textPixels } from "./chart-frame.js";
import { type Drawing, legendOf, markAt, markPath } from "./chart-marks.js";
import { drawRules, ruleLabelHeight } from "./chart-rules.js";
import { styleClass } from "./curve-styles.js";
import { element, type Markup } from "./markup.js";

const rowHeight = 30;
const gap = 10;
/** Names of cells have more capitals and digits than other texts, which are wide. */
const roomForCapitals = 1.1;
/** Labels leave at least the rest of the width to the dots. */
const mostLabelShare = 0.42;

/** Which of `curveStyles` they have. */
const [dotStyle, markStyle] = [0, 1];
/** Square pixels of a dot, and how far it may lie above or below the middle of its row, so that many are seen as many. */
const dotArea = 9;
const mostAside = 9;

/** Rows of dots above an axis, those to be told apart as larger marks on them. */
export function drawStrips({ x, rows, rules, dotsName, marksName }: StripChart): Drawing {
  const hasMarks = rows.some(({ marks }) => marks.length > 0);
  const legend = legendOf([
    { name: dotsName, style: dotStyle },
    ...(hasMarks ? [{ name: marksName, style: markStyle }] : []),
  ]);
  const labels = rows.map(({ label }) => cutOff(label));
  const left = roomForCapitals * widest(labels) + gap;
  const right = chartWidth - widest(rows.map(({ figure }) => figure)) - gap;
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
      // As the curves of other charts are: what a legend's entry stands for is one group.
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
          nameOf(marks, middleOf(index), across),
        ]),
      ),
      ...ruled.map(({ label }) => label),
    ],
  };
}

/** The golden ratio's part: its multiples fill a row evenly, the same at each drawing. */
const step = (Math.sqrt(5) - 1) / 2;

function cloud({ dots }: StripRow, middle: number, across: (value: number) => number): string {
  const aside = (index: number) => (((index * step) % 1) * 2 - 1) * mostAside;
  return dots.map((value, index) => markAt(dotStyle, dotArea, across(value), middle + aside(index))).join("");
}

/** What the lowest mark is, at its left where there is room, and how many more there are. */
function nameOf(marks: StripRow["marks"], middle: number, across: Frame["x"]): Markup | false {
  const lowest = marks.reduce<StripMark | null>((a, b) => (a === null || b.value < a.value ? b : a), null);
  if (lowest === null) return false;
  const more = marks.length === 1 ? "" : ` +${marks.length - 1}`;
  const name = `${lowest.name.length > mostName ? `${lowest.name.slice(0, mostName - 1)}…` : lowest.name}${more}`;
  const at = across(lowest.value);
  const isLeft = at - nameGap - textPixels(name) >= across.range()[0]!;
  const place = isLeft ? { x: at - nameGap, "text-anchor": "end" } : { x: at + nameGap };
  return element("text", { class: "halo", y: middle + 4, ...place }, name);
}

/** Letters of a name beside a mark, and pixels between the two. */
const [mostName, nameGap] = [18, 8];

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(textPixels));
}

/** What is cut off is still read of the row's marks, and in the table. */
function cutOff(label: string): string {
  const most = Math.floor((chartWidth * mostLabelShare) / textPixels("x"));
  return label.length <= most ? label : `${label.slice(0, most - 1)}…`;
}
