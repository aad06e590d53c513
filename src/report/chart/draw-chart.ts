import { drawBars } from "./bar-chart.js";
import type { Chart } from "./chart.js";
import { chartWidth } from "./chart-frame.js";
import type { Drawing } from "./chart-marks.js";
import { drawCurves } from "./curve-chart.js";
import { chartStyleSheet } from "./curve-styles.js";
import { drawForest } from "./forest-chart.js";
import { element, Markup } from "./markup.js";

/** The picture as it stands in a page, which has the style sheet of all charts and shows the title itself. */
export function chartPicture(chart: Chart): Markup {
  return picture(chart, {}, []);
}

/** A file of its own: the picture with its title, ground and style sheet. */
export function chartFile(chart: Chart): string {
  const own = [
    element("style", {}, new Markup(chartStyleSheet())),
    element("rect", { class: "ground", width: "100%", height: "100%" }),
  ];
  return `${picture(chart, { xmlns: "http://www.w3.org/2000/svg", width: chartWidth }, own).text}\n`;
}

function picture(chart: Chart, attributes: Record<string, string | number>, before: Markup[]): Markup {
  const { height, content } = drawing(chart);
  const label = `${chart.title}. ${chart.description}`;
  return element(
    "svg",
    {
      ...attributes,
      class: "chart",
      viewBox: `0 0 ${chartWidth} ${Math.ceil(height)}`,
      role: "img",
      "aria-label": label,
    },
    before,
    content,
  );
}

function drawing(chart: Chart): Drawing {
  switch (chart.kind) {
    case "curves":
      return drawCurves(chart);
    case "bars":
      return drawBars(chart);
    case "forest":
      return drawForest(chart);
  }
}
