import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../package-facts.js";
import { groupBy } from "../../stats/group-by.js";
import { ascending } from "../../stats/order-statistics.js";
import type { Axis, Chart } from "../chart/chart.js";
import { clipped } from "../chart/curve-chart.js";
import { chartStyleSheet } from "../chart/curve-styles.js";
import { element, Markup } from "../chart/markup.js";
import { listed } from "../words.js";
import type { Chapter } from "./chapter.js";
import { chapterSection, titleOf } from "./chapter-section.js";

/** Compiled separately, because they run in a browser: each is a module that knows the others only through the page. */
const scriptFolder = join(packageRoot, "dist/draw/page/browser");

/** Next to this file; the second one has the rules by medium. */
const styleSheets = ["page.css", "page-media.css"];

/** A self-contained HTML file: it loads nothing from the network, and treats no text in it as markup. */
export function page(
  chapters: readonly Chapter[],
  version: string,
  /** The difference of the two documents, which is shown above them. */
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

/** Nothing is loaded, sent or executed except pinbench's own style sheet and scripts, identified by hashes. */
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
 * The chapters with equal axes for charts of the same name: the same place then means the same figure, so that they can
 * be compared by eye. Charts with different quantities, such as µs and GB/s, keep their axes.
 */
export function withSharedAxes(chapters: readonly Chapter[]): Chapter[] {
  const all = chapters.flatMap(({ charts }) => charts);
  const alike = new Map(
    [...groupBy(all, keyOf).values()].flatMap((charts) => {
      const reach = reachOf(charts);
      return charts.map((chart) => [chart, charts.length > 1 ? reaching(chart, reach) : chart] as const);
    }),
  );
  return chapters.map((chapter) => ({
    ...chapter,
    charts: chapter.charts.map((chart) => alike.get(chart) ?? chart),
  }));
}

function keyOf(chart: Chart): string {
  const axes = axesOf(chart).map(({ label, scale }) => `${label}/${scale}`);
  return [chart.kind, chart.name, ...axes].join("//");
}

function axesOf(chart: Chart): Axis[] {
  switch (chart.kind) {
    case "curves":
      return [chart.x, chart.y];
    case "bars":
      return [chart.value];
    default:
      return [];
  }
}

interface Reach {
  ends: number[];
  ticks: number[] | null;
}

function reachOf(charts: readonly Chart[]): Reach[] {
  return axesOf(charts[0]!).map((_, which) => {
    const values = charts.flatMap((chart) => [
      ...(axesOf(chart)[which]!.includes ?? []),
      ...(chart.kind === "bars" ? barValues(chart) : []),
      ...(chart.kind === "curves" ? curveValues(chart, which === 0 ? "x" : "y") : []),
    ]);
    const ticks = charts.map((chart) => axesOf(chart)[which]!.ticks);
    const areMarked = ticks.every((one) => one !== undefined);
    return {
      ends: values.length === 0 ? [] : endsOf(values),
      ticks: areMarked ? ascending(ticks.flatMap((one) => one ?? [])) : null,
    };
  });
}

type OfKind<Kind> = Extract<Chart, { kind: Kind }>;

function barValues({ groups }: OfKind<"bars">): number[] {
  return groups.flatMap(({ bars }) => bars.flatMap(({ value, high }) => [value, high ?? value]));
}

/** All values that a curve chart draws: also intervals and rules. */
function curveValues({ curves, rules, x, y }: OfKind<"curves">, axis: "x" | "y"): number[] {
  const isLog = (axis === "x" ? x : y).scale === "log";
  const ofPoints = clipped(curves).flatMap(({ points }) =>
    points.flatMap((point) =>
      axis === "x" ? [point.x] : [point.y, point.low ?? point.y, point.high ?? point.y],
    ),
  );
  const ofRules = rules.filter((rule) => rule.axis === axis).map(({ value }) => value);
  return [...ofPoints, ...ofRules].filter((value) => !isLog || value > 0);
}

function endsOf(values: readonly number[]): number[] {
  return values.reduce(
    ([least, most], value) => [Math.min(least!, value), Math.max(most!, value)],
    [values[0]!, values[0]!],
  );
}

function reaching(chart: Chart, reach: readonly Reach[]): Chart {
  const widened = (axis: Axis, { ends, ticks }: Reach): Axis => ({
    ...axis,
    includes: [...(axis.includes ?? []), ...ends],
    ...(ticks !== null && { ticks }),
  });
  switch (chart.kind) {
    case "curves":
      return { ...chart, x: widened(chart.x, reach[0]!), y: widened(chart.y, reach[1]!) };
    case "bars":
      return { ...chart, value: widened(chart.value, reach[0]!) };
    default:
      return chart;
  }
}
