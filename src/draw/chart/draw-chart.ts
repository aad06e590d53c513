import { wrap } from "../terminal/terminal-text.js";
import { drawBars } from "./bar-chart.js";
import type { Chart } from "./chart.js";
import { chartWidth, textPixels } from "./chart-frame.js";
import type { Drawing } from "./chart-marks.js";
import { drawCurves } from "./curve-chart.js";
import { chartStyleSheet } from "./curve-styles.js";
import { element, Markup } from "./markup.js";
import { drawForest, drawStrips } from "./row-charts.js";

/** The picture without a title and style sheet, which the page has. */
export function chartPicture(chart: Chart): Markup {
  const { height, content } = drawing(chart);
  return element("svg", { ...what(chart), viewBox: `0 0 ${chartWidth} ${Math.ceil(height)}` }, content);
}

const border = 14;
const captionLineHeight = 20;

export function chartFile(chart: Chart): string {
  const { height, content } = drawing(chart);
  const lines = wrap(chart.title, Math.floor(chartWidth / textPixels("x")));
  const above = border + lines.length * captionLineHeight;
  const area = {
    x: -border,
    y: -above,
    width: chartWidth + 2 * border,
    height: Math.ceil(above + height + border),
  };
  const caption = lines.map((line, index) =>
    element("text", { class: "caption", x: 0, y: (index + 0.5) * captionLineHeight - above + border }, line),
  );
  const file = element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      ...what(chart),
      width: area.width,
      height: area.height,
      viewBox: Object.values(area).join(" "),
    },
    element("style", {}, new Markup(chartStyleSheet())),
    element("rect", { class: "ground", ...area }),
    caption,
    content,
  );
  return `${file.text}\n`;
}

function what({ title, description }: Chart): Record<string, string> {
  return { class: "chart", role: "img", "aria-label": `${title}. ${description}` };
}

function drawing(chart: Chart): Drawing {
  switch (chart.kind) {
    case "curves":
      return drawCurves(chart);
    case "bars":
      return drawBars(chart);
    case "forest":
      return drawForest(chart);
    case "strips":
      return drawStrips(chart);
  }
}
