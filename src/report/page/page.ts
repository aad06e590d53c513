import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Chart } from "../chart/chart.js";
import { chartStyleSheet } from "../chart/curve-styles.js";
import { chartPicture } from "../chart/draw-chart.js";
import { element, fragment, Markup } from "../chart/markup.js";
import type { Note } from "../report-parts.js";
import type { Chapter } from "./chapter.js";
import { pageTable } from "./page-table.js";
import { withSharedAxes } from "./shared-axes.js";

/** One file of HTML that needs nothing else: it asks no network, and obeys no text that stands in it. */
export function page(chapters: readonly Chapter[], version: string): string {
  const style = `${chartStyleSheet()}${readFileSync(new URL("page.css", import.meta.url), "utf8")}`;
  const title = chapters.length === 1 ? chapters[0]!.title : `${chapters.length} documents`;
  const head = element(
    "head",
    {},
    element("meta", { charset: "utf-8" }),
    element("meta", { "http-equiv": "Content-Security-Policy", content: policy({ style }) }),
    element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    element("meta", { name: "generator", content: `pinbench ${version}` }),
    element("title", {}, `pinbench: ${title}`),
    element("style", {}, new Markup(style)),
  );
  const body = element("body", {}, element("main", {}, withSharedAxes(chapters).map(chapterSection)));
  return `<!doctype html>\n${element("html", { lang: "en" }, head, body).text}\n`;
}

/** Nothing is loaded, sent or obeyed but pinbench's own style sheet, known by its hash. */
function policy({ style }: { style: string }): string {
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return `default-src 'none'; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
}

function chapterSection({ title, alerts, answer, charts, grids, notes, facts }: Chapter): Markup {
  return element(
    "section",
    { class: "chapter" },
    element("h1", {}, title),
    paragraphs(alerts, "alert"),
    paragraphs(answer, "answer"),
    element("div", { class: "charts" }, charts.map(chartFigure)),
    grids.map(pageTable),
    notes.length > 0 &&
      element(
        "ul",
        { class: "notes" },
        notes.map(({ text, tone }) => element("li", { class: tone }, text)),
      ),
    element(
      "dl",
      { class: "facts" },
      facts.map(([label, value]) => fragment(element("dt", {}, label), element("dd", {}, value))),
    ),
  );
}

function paragraphs(notes: readonly Note[], name: string): Markup[] {
  return notes.map(({ text, tone }) => element("p", { class: `${name} ${tone}` }, text));
}

function chartFigure(chart: Chart): Markup {
  return element("figure", {}, element("figcaption", {}, chart.title), chartPicture(chart));
}
