import { type ScaleContinuousNumeric, scaleLinear, scaleLog } from "d3-scale";
import type { Axis } from "./chart.js";
import { element, type Markup } from "./markup.js";

/** In units of the picture's own grid; a page scales it. */
export const chartWidth = 560;
const plotHeight = 250;
export const margin = { left: 58, right: 18, top: 10, bottom: 46 } as const;
export const lineHeight = 17;
const upTicks = 5;
const leftOfTicks = 32;
const betweenTicks = 8;
/**
 * Average widths of sans-serif characters at 16 px: blanks, signs, capitals, digits, others. The drawing code cannot
 * measure fonts. On narrow screens page-media.css uses this size, so that a shrunken chart stays readable; elsewhere
 * texts have 12 px.
 */
const widths = [
  [/ /, 5],
  [/[%+−×]/, 13.6],
  [/[A-Z]/, 12],
  [/\d/, 10.2],
  [/./s, 9],
] as const;

export function textPixels(text: string): number {
  return [...text].reduce((sum, letter) => sum + widths.find(([kind]) => kind.test(letter))![1], 0);
}

export interface Frame {
  x: ScaleContinuousNumeric<number, number>;
  y: ScaleContinuousNumeric<number, number>;
  left: number;
  right: number;
  top: number;
  bottom: number;
  height: number;
}

export function frameOf(
  above: number,
  x: Axis,
  xs: readonly number[],
  y: Axis,
  ys: readonly number[],
): Frame {
  const top = above + margin.top;
  const bottom = top + plotHeight;
  const up = roomyScale(y, ys).range([bottom, top]);
  const [, widest] = extremesOf(ticksOf(y, up, upTicks).map((value) => textPixels(y.format(value))));
  const [left, right] = [Math.max(margin.left, widest + leftOfTicks), chartWidth - margin.right];
  return {
    x: acrossScale(x, xs).range([left, right]),
    y: up,
    ...{ left, right, top, bottom },
    height: bottom + margin.bottom,
  };
}

/** Share of an axis kept free at its ends, so that marks stay off the frame. */
const roomAtEnds = 0.04;

/** The same for a logarithmic axis. A mark is often at its end, and its label must not touch the other axis' labels. */
const logRoom = 0.05;

/** A horizontal axis' scale. It keeps room below 0 for a point at 0, whose mark would lie on the frame. */
function acrossScale(axis: Axis, xs: readonly number[]): ScaleContinuousNumeric<number, number> {
  const scale = roomyScale(axis, xs);
  const [low, high] = scale.domain() as [number, number];
  return axis.scale === "linear" && low === 0 && xs.includes(0)
    ? scale.domain([-high * roomAtEnds, high])
    : scale;
}

export function roomyScale(axis: Axis, values: readonly number[]): ScaleContinuousNumeric<number, number> {
  const scale = scaleOf(axis, values, logRoom);
  if (axis.scale === "log" || values.length === 0) return scale;
  const [low, high] = scale.domain() as [number, number];
  const [least, most] = extremesOf([...values, ...(axis.includes ?? [])]);
  const edge = (high - low) * roomAtEnds;
  return scale.domain([low === 0 ? 0 : Math.min(low, least - edge), Math.max(high, most + edge)]);
}

/**
 * A scale over all values. A linear axis without its own ticks ends at round numbers; a logarithmic one ends a little
 * outside the values.
 */
function scaleOf(
  axis: Axis,
  values: readonly number[],
  logRoom = 0.04,
): ScaleContinuousNumeric<number, number> {
  const all = [...values, ...(axis.includes ?? [])].filter((value) => hasPlace(axis, value));
  const [least, most] = all.length === 0 ? [1, 1] : extremesOf(all);
  if (axis.scale === "log") {
    const room = least === most ? 2 : (most / least) ** logRoom;
    return scaleLog().domain([least / room, most * room]);
  }
  const room = least === most ? Math.abs(least) / 2 || 1 : 0;
  const scale = scaleLinear().domain([least - room, most + room]);
  return axis.ticks === undefined ? scale.nice() : scale;
}

export function hasPlace(axis: Axis, value: number): boolean {
  return axis.scale === "linear" || value > 0;
}

export function widestPixels(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(textPixels));
}

/** Smallest and largest value. Math.min(...values) would overflow the stack for many values. */
export function extremesOf(values: readonly number[]): [least: number, greatest: number] {
  return values.reduce<[number, number]>(
    ([least, greatest], value) => [Math.min(least, value), Math.max(greatest, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
}

export function axes(frame: Frame, x: Axis, y: Axis): Markup[] {
  const { left, right, top, bottom } = frame;
  return [
    ...ticksOf(y, frame.y, upTicks).flatMap((value) => [
      element("line", { class: "grid", x1: left, x2: right, y1: frame.y(value), y2: frame.y(value) }),
      element(
        "text",
        { class: "quiet", x: left - 7, y: frame.y(value) + 4, "text-anchor": "end" },
        y.format(value),
      ),
    ]),
    ...axisAcross(frame, x),
    element(
      "text",
      { x: 0, y: 0, "text-anchor": "middle", transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)` },
      y.label,
    ),
  ];
}

export function axisAcross(frame: Omit<Frame, "y" | "height">, x: Axis): Markup[] {
  const { left, right, top, bottom } = frame;
  return [
    ...ticksThatFit(x, frame.x).flatMap((value) => [
      element("line", { class: "grid", x1: frame.x(value), x2: frame.x(value), y1: top, y2: bottom }),
      element(
        "text",
        { class: "quiet", x: frame.x(value), y: bottom + 18, "text-anchor": "middle" },
        x.format(value),
      ),
    ]),
    element("text", { x: (left + right) / 2, y: bottom + 37, "text-anchor": "middle" }, x.label),
  ];
}

/** Positions of an axis' ticks: its own, or about this many round numbers. */
function ticksOf(axis: Axis, scale: ScaleContinuousNumeric<number, number>, about: number): number[] {
  if (axis.ticks !== undefined) return axis.ticks.filter((value) => hasPlace(axis, value));
  const ticks = scale.ticks(about);
  if (axis.scale === "linear") return ticks;
  const beginningWith = (digits: string) =>
    ticks.filter((value) => digits.includes(value.toExponential()[0]!));
  return [beginningWith("1"), beginningWith("125")].find(({ length }) => length >= fewestLogTicks) ?? ticks;
}

/** A logarithmic axis has powers of ten as ticks, and their multiples by 2 and 5 if there would be fewer than this. */
const fewestLogTicks = 3;

/**
 * The ticks of a horizontal axis whose labels do not overlap: round numbers further apart, or some of the given ones.
 */
export function ticksThatFit(axis: Axis, scale: ScaleContinuousNumeric<number, number>, most = 8): number[] {
  if (axis.ticks === undefined && axis.scale === "linear") {
    for (let about = most; about > 1; --about) {
      const ticks = ticksOf(axis, scale, about);
      if (areApart(ticks, axis, scale)) return ticks;
    }
  }
  const ticks = ticksOf(axis, scale, most);
  for (let every = 1; every < ticks.length; ++every) {
    const some = ticks.filter((_, index) => index % every === 0);
    if (areApart(some, axis, scale)) return some;
  }
  return ticks.slice(0, 1);
}

function areApart(
  ticks: readonly number[],
  axis: Axis,
  scale: ScaleContinuousNumeric<number, number>,
): boolean {
  return ticks.every((value, index) => {
    const next = ticks[index + 1];
    if (next === undefined) return true;
    const needed = (textPixels(axis.format(value)) + textPixels(axis.format(next))) / 2 + betweenTicks;
    return Math.abs(scale(next) - scale(value)) >= needed;
  });
}
