import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../package-facts.js";
import { markPath } from "../chart/chart-marks.js";
import { chartStyleSheet, curveStyles } from "../chart/curve-styles.js";
import { element, Markup } from "../chart/markup.js";
import type { Chapter } from "./chapter.js";
import { chapterSection, titleOf } from "./chapter-section.js";
import { sampleData } from "./sample-data.js";
import { withSharedAxes } from "./shared-axes.js";

/** Compiled apart, as they run in a browser: each is a module that knows the others only by what is in the page. */
const scriptFolder = join(packageRoot, "dist/draw/page/browser");

/** Beside this file; the second one has what differs by medium. */
const styleSheets = ["page.css", "page-media.css"];

/** One file of HTML that needs nothing else: it asks no network, and obeys no text that stands in it. */
export function page(
  chapters: readonly Chapter[],
  version: string,
  /** What the two documents differ in: it stands above them, and their charts are drawn as one each. */
  difference: Chapter | null = null,
): string {
  const sheets = styleSheets.map((name) => readFileSync(new URL(name, import.meta.url), "utf8"));
  const style = [chartStyleSheet(), ...sheets].join("");
  const scripts = scriptNames(chapters).map((name) => readFileSync(join(scriptFolder, `${name}.js`), "utf8"));
  const title = chapters.length === 1 ? chapters[0]!.report.name : `${chapters.length} documents`;
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
    element("header", {}, element("h1", {}, "pinbench report"), contents(chapters)),
    element(
      "main",
      { class: chapters.length > 1 ? `several${chapters.length === 2 ? " pair" : ""}` : "single" },
      difference !== null && chapterSection(difference, { id: "difference", isWhole: true }),
      withSharedAxes(chapters).map((chapter, index) =>
        chapterSection(chapter, {
          id: `document-${index + 1}`,
          ...(chapters.length > 1 && { number: index + 1 }),
        }),
      ),
    ),
    chapters.some(hasSamples) && [
      dataScript("samples", sampleData(chapters)),
      dataScript("marks", JSON.stringify(curveStyles.map((_, style) => markPath(style)))),
    ],
    scripts.map((script) => element("script", { type: "module" }, new Markup(script))),
  );
  return `<!doctype html>\n${element("html", { lang: "en" }, head, body).text}\n`;
}

/** What scripts read, and nothing runs. */
function dataScript(id: string, json: string): Markup {
  return element("script", { type: "application/json", id }, new Markup(json));
}

/** Those that find anything to do in the page. */
function scriptNames(chapters: readonly Chapter[]): string[] {
  if (chapters.every(({ charts }) => charts.length === 0)) return [];
  return [
    "legend",
    ...(chapters.length > 1 ? ["laying-over"] : []),
    "reading",
    ...(chapters.some(hasSamples) ? ["cell-samples"] : []),
  ];
}

function hasSamples({ samples }: Chapter): boolean {
  return samples.length > 0;
}

/** Nothing is loaded, sent or run but pinbench's own style sheet and scripts, which are known by their hashes. */
function policy(style: string, scripts: readonly string[]): string {
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const scriptSources = scripts.length === 0 ? "'none'" : scripts.map(hash).join(" ");
  return `default-src 'none'; style-src ${hash(style)}; script-src ${scriptSources}; base-uri 'none'; form-action 'none'`;
}

/** Where several documents stand one after the other, what they are. */
function contents(chapters: readonly Chapter[]): Markup | false {
  if (chapters.length < 2) return false;
  const entries = chapters.map((chapter, index) =>
    element("li", {}, element("a", { href: `#document-${index + 1}` }, titleOf(chapter))),
  );
  return element("nav", { "aria-label": "Contents" }, element("ol", {}, entries));
}
