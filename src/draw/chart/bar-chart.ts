import { scaleLinear } from "d3-scale";
import type { Bar, BarChart } from "./chart.js";
import { chartWidth, extremesOf, ticksThatFit, widestPixels } from "./chart-frame.js";
import type { Drawing } from "./chart-marks.js";
import { styleClass } from "./curve-styles.js";
import { element, type Markup } from "./markup.js";

const rowHeight = 19;
const barHeight = 12;
const afterGroup = 7;
const axisHeight = 40;
const gap = 8;
/** Space for names and texts is limited, so that bars of different lengths remain distinguishable. */
const [mostNamePixels, mostTextPixels] = [240, 240];
/** Margin for letters wider than the average, because a text cut off at the edge is unreadable. */
const roomForWideLetters = 1.12;

export function drawBars({ value, groups }: BarChart): Drawing {
  const bars = groups.flatMap((group) => group.bars);
  const widest = (texts: readonly string[]) => roomForWideLetters * widestPixels(texts);
  const left = Math.min(widest(bars.map(({ name }) => name)), mostNamePixels) + gap;
  const right = chartWidth - Math.min(widest(bars.map(({ text }) => text)), mostTextPixels);
  const ends = bars.map((bar) => Math.max(bar.value, bar.high ?? 0));
  const [, most] = extremesOf([0, ...ends, ...(value.includes ?? [])]);
  const across = scaleLinear()
    .domain([0, most || 1])
    .range([left, right - 2 * gap])
    .nice(4);
  const content: Markup[] = [];
  let top = 0;
  for (const { name, style, bars } of groups) {
    content.push(element("text", { class: "heading", x: 0, y: top + 14 }, name));
    top += rowHeight;
    for (const bar of bars) {
      content.push(barRow(bar, style, top, left, across));
      top += rowHeight;
    }
    top += afterGroup;
  }
  const ticks = ticksThatFit(value, across, 4).flatMap((tick) => [
    element("line", { class: "grid", x1: across(tick), x2: across(tick), y1: 0, y2: top }),
    element(
      "text",
      { class: "quiet", x: across(tick), y: top + 14, "text-anchor": "middle" },
      value.format(tick),
    ),
  ]);
  const middle = (left + across.range()[1]!) / 2;
  return {
    height: top + axisHeight,
    content: [
      ...ticks,
      ...content,
      element("text", { x: middle, y: top + 33, "text-anchor": "middle" }, value.label),
    ],
  };
}

function barRow(
  bar: Bar,
  style: number,
  top: number,
  left: number,
  across: (value: number) => number,
): Markup {
  const { name, text, low, high } = bar;
  const middle = top + rowHeight / 2;
  const start = across(0);
  const end = Math.max(across(bar.value), start);
  const [from, to] = [Math.max(across(low ?? bar.value), start), Math.max(across(high ?? bar.value), start)];
  return element(
    "g",
    { class: styleClass(style) },
    element("text", { x: left - gap, y: middle + 4, "text-anchor": "end" }, name),
    element(
      "rect",
      {
        class: "bar",
        x: start,
        y: middle - barHeight / 2,
        width: end - start,
        height: barHeight,
      },
      element("title", {}, `${name}: ${text}`),
    ),
    low !== null &&
      high !== null &&
      element("line", { class: "error", x1: from, x2: to, y1: middle, y2: middle }),
    element("text", { x: Math.max(end, to) + gap, y: middle + 4 }, text),
  );
}
