import type { ForestChart, ForestKind, ForestRow, StripChart, StripMark, StripRow } from "./chart.js";
import {
  axisAcross,
  chartWidth,
  type Frame,
  margin,
  roomyScale,
  textPixels,
  widestPixels,
} from "./chart-frame.js";
import { type Drawing, drawRules, legendOf, markPath, rounded, ruleLabelHeight } from "./chart-marks.js";
import { styleClass } from "./curve-styles.js";
import { type Content, element, type Markup } from "./markup.js";

const rowHeight = 18;
const gap = 10;
/** Factor for text widths on phones, which shrink a chart but not its texts (page-media.css). */
const phoneText = 1.15;
const mostLabelShare = 0.42;

/**
 * Intervals are cut off, with an arrow, at this multiple of the outermost mark or limit. Otherwise one uncertain row
 * would shrink all others to a point.
 */
const mostReach = 2.5;

export function drawForest({ x, kinds, rows, limitName }: ForestChart): Drawing {
  const legend = legendOf(kinds);
  const mostLetters = Math.floor((chartWidth * mostLabelShare) / textPixels("x"));
  const labels = rows.map(({ label }) => cutOff(label, mostLetters));
  const left = phoneText * widestPixels(labels) + gap;
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
      // Each legend entry is a group of marks, like a curve in other charts.
      ...kinds.map((kind, index) =>
        element(
          "g",
          { class: `curve ${styleClass(kind.style)}`, "data-curve": index },
          rows.map((row, i) => row.kind === index && rowMark(row, kind, middleOf(i), frame)),
        ),
      ),
    ],
  };
}

/** Shortens a label to its start and end, which distinguish rows. The text for screen readers stays whole. */
function cutOff(label: string, most: number): string {
  const half = Math.floor(most / 2);
  return label.length <= most ? label : `${label.slice(0, half)}…${label.slice(half + 1 - most)}`;
}

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

/** A line between the ends with an upright stroke at each, or an arrow if it continues outside. */
function whisker(low: number, high: number, y: number, { x, left, right }: Area): string {
  const [from, to] = [Math.max(left, x(low)), Math.min(right, x(high))].map((at) => at.toFixed(1));
  const start = x(low) < left ? `M${left + 5},${y - 4}L${from},${y}L${left + 5},${y + 4}` : stroke(from!, y);
  const end = x(high) > right ? `M${right - 5},${y - 4}L${to},${y}L${right - 5},${y + 4}` : stroke(to!, y);
  return `M${from},${y}H${to}${start}${end}`;
}

function stroke(at: string, y: number): string {
  return `M${at},${y - 3}v6`;
}

const stripHeight = 30;
const mostStripLabelShare = 0.45;

const [dotStyle, markStyle] = [0, 1];
/** Radius of a dot, and the largest distance from the middle of its row: spread dots show how many there are. */
const dotRadius = 1.7;
const mostAside = 9;

export function drawStrips({ x, rows, rules, dotsName, marksName }: StripChart): Drawing {
  const hasMarks = rows.some(({ marks }) => marks.length > 0);
  const legend = legendOf([
    { name: dotsName, style: dotStyle },
    ...(hasMarks ? [{ name: marksName, style: markStyle }] : []),
  ]);
  const labels = rows.map(({ label }) =>
    cutOff(label, Math.floor((chartWidth * mostStripLabelShare * label.length) / textPixels(label))),
  );
  const left = widestPixels(labels) + gap;
  const right = chartWidth - widestPixels(rows.map(({ figure }) => figure)) - gap;
  const top = legend.height + ruleLabelHeight(rules) + margin.top;
  const bottom = top + rows.length * stripHeight;
  const values = rows.flatMap(({ dots, marks }) => [...dots, ...marks.map(({ value }) => value)]);
  const across = roomyScale(x, [...values, ...rules.map(({ value }) => value)]).range([left, right]);
  const frame = { x: across, y: across, left, right, top, bottom, height: bottom + margin.bottom };
  const ruled = drawRules(frame, rules);
  const middleOf = (index: number) => top + (index + 0.5) * stripHeight;
  const at = (value: number) => across(value).toFixed(1);
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
      // Each legend entry is a group of marks, like a curve in other charts.
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
                transform: `translate(${at(value)} ${middleOf(index)})`,
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

/** From the golden ratio: its multiples fill a row evenly and reproducibly. */
const step = (Math.sqrt(5) - 1) / 2;

function cloud({ dots }: StripRow, middle: number, across: (value: number) => number): string {
  const aside = (index: number) => (((index * step) % 1) * 2 - 1) * mostAside;
  const half = (width: number) => `a${dotRadius} ${dotRadius} 0 1 1 ${width} 0`;
  const circle = half(-2 * dotRadius) + half(2 * dotRadius);
  const points = dots.map((value, index) => [across(value) + dotRadius, middle + aside(index)]);
  return rounded(points.map(([x, y]) => `M${x} ${y}${circle}`).join(""));
}

/** Names of marks from the lowest up while there is room. The lowest also shows how many others have no name. */
function namesOf(marks: StripRow["marks"], middle: number, across: Frame["x"]): Markup[] {
  const [lowest, ...others] = [...marks].sort((a, b) => a.value - b.value);
  if (lowest === undefined) return [];
  const [left, right] = across.range() as [number, number];
  const taken = marks.map(({ value }) => [across(value) - nameGap, across(value) + nameGap] as const);
  const isFree = (from: number, to: number) =>
    from >= left && to <= right && taken.every(([start, end]) => to <= start || from >= end);
  const drawn = (name: string, isLeft: boolean, at: number) => {
    const position = isLeft
      ? { x: at - nameGap, "text-anchor": "end" }
      : { x: Math.min(at + nameGap, right - textPixels(name)) };
    return element("text", { class: "halo", y: middle + 4, ...position }, name);
  };
  // Leaves room for that number.
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

const [mostName, nameGap] = [18, 8];

function shortName({ name }: StripMark): string {
  return name.length > mostName ? `${name.slice(0, mostName - 1)}…` : name;
}
