import type { Rule } from "./chart.js";
import { chartWidth, type Frame, lineHeight, textPixels } from "./chart-frame.js";
import { element, type Markup } from "./markup.js";

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
