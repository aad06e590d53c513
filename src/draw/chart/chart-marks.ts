import { type SymbolType, symbol } from "d3-shape";
import { wrap } from "../terminal/terminal-text.js";
import type { Rule } from "./chart.js";
import { chartWidth, type Frame, lineHeight, textPixels } from "./chart-frame.js";
import { curveStyle, styleClass } from "./curve-styles.js";
import { element, type Markup } from "./markup.js";

/** The content of a picture, or of a part of it, and how high it is. */
export interface Drawing {
  height: number;
  content: Markup[];
}

/** Square pixels of a point's mark. */
const markArea = 42;

/** The outline of a style's mark around 0. */
export function markPath(style: number): string {
  return rounded(symbol(curveStyle(style).mark, markArea)());
}

/** The outline of a style's mark around a place, with this area in square pixels; a part of a path. */
export function markAt(style: number, area: number, x: number, y: number): string {
  const at = (dx: number, dy: number) => `${tenths(x + dx)} ${tenths(y + dy)}`;
  const steps: string[] = [];
  // What d3's symbols draw with: a part of a canvas' context, whose arcs are full circles here.
  const context = {
    moveTo: (dx: number, dy: number) => steps.push(`M${at(dx, dy)}`),
    lineTo: (dx: number, dy: number) => steps.push(`L${at(dx, dy)}`),
    rect: (dx: number, dy: number, width: number, height: number) =>
      steps.push(`M${at(dx, dy)}h${tenths(width)}v${tenths(height)}h${tenths(-width)}z`),
    // The pen is at the right end already.
    arc: (_x: number, _y: number, radius: number) => {
      const half = (side: 1 | -1) =>
        `a${tenths(radius)} ${tenths(radius)} 0 1 1 ${tenths(side * 2 * radius)} 0`;
      steps.push(half(-1), half(1));
    },
    closePath: () => steps.push("z"),
  };
  curveStyle(style).mark.draw(context as unknown as Parameters<SymbolType["draw"]>[0], area);
  return steps.join("");
}

/** One decimal of a pixel is enough for an eye. */
function tenths(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

/** A path as d3 makes it, whose numbers have up to 17 digits: one decimal of a pixel is enough for an eye. */
export function rounded(path: string | null): string {
  return (path ?? "").replace(/\d+\.\d+(e-?\d+)?/g, (number) => String(Math.round(Number(number) * 10) / 10));
}

/** What a legend tells of: a curve, or what marks of one kind stand for. */
export interface LegendEntry {
  name: string;
  /** Which of `curveStyles` it has. */
  style: number;
  /** Whether a line joins its points. */
  isJoined?: boolean;
  /** Whether its marks are hollow, and whether it has none. */
  isOpen?: boolean;
  hasNoMarks?: boolean;
}

const sampleWidth = 30;

/** A line of each entry's style with its mark, and its name, side by side in as many rows as they need. */
export function legendOf(entries: readonly LegendEntry[]): Drawing {
  if (entries.length === 0) return { height: 0, content: [] };
  let [left, row] = [0, 0];
  const content = entries.map(
    ({ name, style, isJoined = false, isOpen = false, hasNoMarks = false }, index) => {
      const markWidth = isJoined ? sampleWidth : 12;
      const lines = wrap(name, Math.floor((chartWidth - markWidth - 8) / textPixels("x")));
      const width = markWidth + 8 + Math.max(...lines.map(textPixels)) + 16;
      if (left > 0 && (left + width > chartWidth || lines.length > 1)) [left, row] = [0, row + 1];
      const middle = row * lineHeight + lineHeight / 2;
      const entry = element(
        "g",
        {
          class: `legend ${styleClass(style)}`,
          "data-curve": index,
          transform: `translate(${left} ${middle})`,
        },
        isJoined && element("path", { class: "line", d: `M0,0H${sampleWidth}` }),
        !hasNoMarks &&
          element("path", {
            class: isOpen ? "mark open" : "mark",
            transform: `translate(${markWidth / 2} 0)`,
            d: markPath(style),
          }),
        element(
          "text",
          { x: markWidth + 8, y: 4 },
          lines.length === 1
            ? name
            : lines.map((line, i) =>
                element(
                  "tspan",
                  { x: markWidth + 8, dy: i * lineHeight && lineHeight },
                  `${i > 0 ? " " : ""}${line}`,
                ),
              ),
        ),
      );
      left += width;
      row += lines.length - 1;
      return entry;
    },
  );
  return { height: (row + 1) * lineHeight, content };
}

/** So many labels of upright rules stand below each other before the next one stands at the top again. */
const mostLabelRows = 6;

/** The room that the labels of upright rules take above the frame. */
export function ruleLabelHeight(rules: readonly Rule[]): number {
  return lineHeight * Math.min(mostLabelRows, rules.filter(({ axis }) => axis === "x").length);
}

/** A rule as a line, and what it stands for: of a level one at its end, of an upright one above the frame. */
interface DrawnRule {
  line: Markup;
  /** To be drawn over the curves, of which it keeps its ground clear. */
  label: Markup;
}

/** Lines across the chart with their labels. */
export function drawRules(frame: Frame, rules: readonly Rule[]): DrawnRule[] {
  const upright = rules.filter(({ axis }) => axis === "x").sort((a, b) => a.value - b.value);
  const firstRow = frame.top - ruleLabelHeight(rules) + lineHeight / 2;
  return rules.map((rule) => {
    if (rule.axis === "y") return levelRule(frame, rule);
    return uprightRule(frame, rule, firstRow + (upright.indexOf(rule) % mostLabelRows) * lineHeight);
  });
}

/** Between a line and what stands beside it. */
const ruleGap = 5;

function levelRule(frame: Frame, { value, label }: Rule): DrawnRule {
  const { left, right } = frame;
  const y = frame.y(value);
  return {
    line: element("line", { class: "rule", x1: left, x2: right, y1: y, y2: y }),
    label: element("text", { class: "quiet halo", x: right, y: y - ruleGap, "text-anchor": "end" }, label),
  };
}

/** The label stands at the right of its line, or at the left where only there is room; hovering shows what is cut off. */
function uprightRule(frame: Frame, { value, label }: Rule, y: number): DrawnRule {
  const x = frame.x(value);
  const most = Math.floor(chartWidth / textPixels("x"));
  const shown = label.length <= most ? label : `${label.slice(0, most - 1)}…`;
  const width = textPixels(shown);
  const [right, left] = [x + ruleGap, x - ruleGap];
  const place =
    right + width > chartWidth && left - width >= 0
      ? { x: left, "text-anchor": "end" }
      : { x: Math.max(0, Math.min(right, chartWidth - width)) };
  return {
    line: element("line", { class: "rule", x1: x, x2: x, y1: y - lineHeight / 2, y2: frame.bottom }),
    label: element("text", { class: "quiet halo", ...place, y: y + 2 }, shown, element("title", {}, label)),
  };
}
