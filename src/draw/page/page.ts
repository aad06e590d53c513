import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../package-facts.js";
import { groupBy } from "../../stats/group-by.js";
import { ascending } from "../../stats/order-statistics.js";
import type { Axis, BarChart, Chart, CurveChart } from "../chart/chart.js";
import { clipped } from "../chart/curve-chart.js";
import { chartStyleSheet } from "../chart/curve-styles.js";
import { element, Markup } from "../chart/markup.js";
import { listed } from "../words.js";
import type { Chapter } from "./chapter.js";
import { chapterSection, titleOf } from "./chapter-section.js";

/** Compiled separately for the browser: independent modules that share only the page. */
const scriptFolder = join(packageRoot, "dist/draw/page/browser");

/** Next to this file; page-media.css has the rules by medium. */
const styleSheets = ["page.css", "page-media.css"];

/** A self-contained HTML file. It loads nothing from the network, and no text in it is read as markup. */
export function page(
  chapters: readonly Chapter[],
  version: string,
  /** The comparison of the two documents, shown above them. */
  difference: Chapter | null = null,
): string {
  const sheets = styleSheets.map((name) => readFileSync(new URL(name, import.meta.url), "utf8"));
  const style = [chartStyleSheet(), ...sheets].join("");
  const scripts = scriptNames(chapters).map((name) => readFileSync(join(scriptFolder, `${name}.js`), "utf8"));
  const title = difference?.report.name ?? listed(chapters.map(titleOf));
  const head = element(
    "head",
    {},
    element("meta", { charset: "utf-8" }),
    element("meta", { "http-equiv": "Content-Security-Policy", content: policy(style, scripts) }),
    element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    element("meta", { name: "generator", content: `pinbench ${version}` }),
    element("title", {}, `pinbench: ${title}`),
    element("style", {}, new Markup(style)),
  );
  const body = element(
    "body",
    {},
    element(
      "header",
      {},
      element("h1", {}, chapters.length === 1 ? `pinbench ${chapters[0]!.report.command || "run"}` : title),
      contents(chapters),
    ),
    element(
      "main",
      {},
      difference !== null && chapterSection(difference, { id: "difference" }),
      withSharedAxes(chapters).map((chapter, index) =>
        chapterSection(chapter, {
          id: `document-${index + 1}`,
          ...(chapters.length > 1 && { number: index + 1 }),
        }),
      ),
    ),
    scripts.map((script) => element("script", { type: "module" }, new Markup(script))),
  );
  return `<!doctype html>\n${element("html", { lang: "en" }, head, body).text}\n`;
}

function scriptNames(chapters: readonly Chapter[]): string[] {
  if (chapters.every(({ charts }) => charts.length === 0)) return [];
  return ["legend", "reading"];
}

/** The page may load and send nothing, and use only pinbench's own style sheet and scripts, by their hashes. */
function policy(style: string, scripts: readonly string[]): string {
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const scriptSources = scripts.length === 0 ? "'none'" : scripts.map(hash).join(" ");
  return `default-src 'none'; style-src ${hash(style)}; script-src ${scriptSources}; base-uri 'none'; form-action 'none'`;
}

function contents(chapters: readonly Chapter[]): Markup | false {
  if (chapters.length < 2) return false;
  const entries = chapters.map((chapter, index) =>
    element("li", {}, element("a", { href: `#document-${index + 1}` }, titleOf(chapter))),
  );
  return element("nav", { "aria-label": "Contents" }, element("ol", {}, entries));
}

/**
 * The chapters with the same axes in charts of the same name, so that these can be compared by eye. Charts of different
 * quantities, such as µs and GB/s, keep their axes.
 */
export function withSharedAxes(chapters: readonly Chapter[]): Chapter[] {
  const alike = groupBy(
    chapters.flatMap(({ charts }) => charts),
    keyOf,
  );
  return chapters.map((chapter) => ({
    ...chapter,
    charts: chapter.charts.map((chart) => sharing(chart, alike.get(keyOf(chart))!)),
  }));
}

function keyOf(chart: Chart): string {
  const axes = chart.kind === "curves" ? [chart.x, chart.y] : chart.kind === "bars" ? [chart.value] : [];
  return [chart.kind, chart.name, ...axes.map(({ label, scale }) => `${label}/${scale}`)].join("//");
}

function sharing(chart: Chart, alike: readonly Chart[]): Chart {
  if (alike.length < 2) return chart;
  if (chart.kind === "bars") {
    const charts = alike as BarChart[];
    const bars = charts.flatMap(({ groups }) => groups).flatMap((group) => group.bars);
    const ends = bars.map(({ value, high }) => high ?? value);
    return {
      ...chart,
      value: reaching(
        chart.value,
        charts.map(({ value }) => value),
        ends,
      ),
    };
  }
  if (chart.kind !== "curves") return chart;
  const charts = alike as CurveChart[];
  const points = charts.flatMap(({ curves }) => clipped(curves)).flatMap((curve) => curve.points);
  const rules = charts.flatMap((one) => one.rules);
  const ends = {
    x: points.map(({ x }) => x),
    y: points.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]),
  };
  const shared = (axis: "x" | "y") => {
    const ruled = rules.filter((rule) => rule.axis === axis).map(({ value }) => value);
    return reaching(
      chart[axis],
      charts.map((one) => one[axis]),
      [...ends[axis], ...ruled],
    );
  };
  return { ...chart, x: shared("x"), y: shared("y") };
}

/** The axis extended to the values of these axes, with all their ticks if it has its own. */
function reaching(axis: Axis, alike: readonly Axis[], ends: readonly number[]): Axis {
  return {
    ...axis,
    includes: [...alike.flatMap(({ includes }) => includes ?? []), ...ends],
    ...(axis.ticks !== undefined && { ticks: ascending(alike.flatMap(({ ticks }) => ticks ?? [])) }),
  };
}
