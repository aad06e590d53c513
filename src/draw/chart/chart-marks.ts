import { symbol } from "d3-shape";
import { wrap } from "../terminal/terminal-text.js";
import type { RuleLine } from "./chart.js";
import { chartWidth, type Frame, lineHeight, textPixels } from "./chart-frame.js";
import { curveStyle, styleClass } from "./curve-styles.js";
import { element, type Markup } from "./markup.js";

export interface Drawing {
  height: number;
  content: Markup[];
}

const markArea = 42;

export function markPath(style: number): string {
  return rounded(symbol(curveStyle(style).mark, markArea)());
}

/** A d3 path with numbers rounded from up to 17 digits to 0.1 px. */
export function rounded(path: string | null): string {
  return (path ?? "").replace(/\d+\.\d+(e-?\d+)?/g, (number) => String(Math.round(Number(number) * 10) / 10));
}

export interface LegendEntry {
  name: string;
  style: number;
  /** Whether a line joins its points. */
  isJoined?: boolean;
  isOpen?: boolean;
  hasNoMarks?: boolean;
}

const sampleWidth = 30;

/** Legend entries side by side, in as many rows as needed: line, mark and name. */
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

/** Labels of upright rules use at most this many rows, then start again in the first. */
const mostLabelRows = 6;

export function ruleLabelHeight(rules: readonly RuleLine[]): number {
  return lineHeight * Math.min(mostLabelRows, rules.filter(({ axis }) => axis === "x").length);
}

interface DrawnRule {
  line: Markup;
  /** Drawn over the curves, with a clear background. */
  label: Markup;
}

export function drawRules(frame: Frame, rules: readonly RuleLine[]): DrawnRule[] {
  const upright = rules.filter(({ axis }) => axis === "x").sort((a, b) => a.value - b.value);
  const firstRow = frame.top - ruleLabelHeight(rules) + lineHeight / 2;
  return rules.map((rule) => {
    if (rule.axis === "y") return levelRule(frame, rule);
    return uprightRule(frame, rule, firstRow + (upright.indexOf(rule) % mostLabelRows) * lineHeight);
  });
}

const ruleGap = 5;

function levelRule(frame: Frame, { value, label }: RuleLine): DrawnRule {
  const { left, right } = frame;
  const y = frame.y(value);
  return {
    line: element("line", { class: "rule", x1: left, x2: right, y1: y, y2: y }),
    label: element("text", { class: "quiet halo", x: right, y: y - ruleGap, "text-anchor": "end" }, label),
  };
}

/** The label is right of its line, or left if only that side has room; hovering shows the whole text. */
function uprightRule(frame: Frame, { value, label }: RuleLine, y: number): DrawnRule {
  const x = frame.x(value);
  const most = Math.floor(chartWidth / textPixels("x"));
  const shown = label.length <= most ? label : `${label.slice(0, most - 1)}…`;
  const width = textPixels(shown);
  const [right, left] = [x + ruleGap, x - ruleGap];
  const position =
    right + width > chartWidth && left - width >= 0
      ? { x: left, "text-anchor": "end" }
      : { x: Math.max(0, Math.min(right, chartWidth - width)) };
  return {
    line: element("line", { class: "rule", x1: x, x2: x, y1: y - lineHeight / 2, y2: frame.bottom }),
    label: element(
      "text",
      { class: "quiet halo", ...position, y: y + 2 },
      shown,
      element("title", {}, label),
    ),
  };
}
