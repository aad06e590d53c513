import type { Chart } from "../chart/chart.js";
import { chartPicture } from "../chart/draw-chart.js";
import { element, fragment, type Markup } from "../chart/markup.js";
import type { Note } from "../report-parts.js";
import type { Chapter } from "./chapter.js";
import { pageTable } from "./page-table.js";

/**
 * One document of a page: what it comes to, its pictures, its tables, and where it was measured. Always so many parts,
 * empty ones too, so that those of documents beside each other stand at the same height.
 */
export function chapterSection(chapter: Chapter, index: number, count: number): Markup {
  const { title, alerts, answer, conclusions, charts, grids, notes, facts } = chapter;
  const id = `document-${index + 1}`;
  return element(
    "section",
    { class: "chapter", id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, count > 1 ? `${index + 1}. ${title}` : title),
    element(
      "div",
      { class: "first" },
      paragraphs(alerts, "alert"),
      paragraphs(answer, "answer"),
      noteList(conclusions),
    ),
    part(
      "Charts",
      charts.map((chart) => chartFigure(chart, id)),
      "charts",
    ),
    part("Tables", [...grids.map(pageTable), ...noteList(notes)], "tables"),
    part("Environment", facts.length > 0 ? [factList(facts)] : [], "environment"),
  );
}

function part(heading: string, content: Markup[], name: string): Markup {
  if (content.length === 0) return element("div", {});
  return element("div", {}, element("h3", {}, heading), element("div", { class: name }, content));
}

function paragraphs(notes: readonly Note[], name: string): Markup[] {
  return notes.map(({ text, tone }) => element("p", { class: `${name} ${tone}` }, text));
}

function chartFigure(chart: Chart, chapterId: string): Markup {
  return element(
    "figure",
    { id: `${chapterId}-${chart.name}`, "data-chart": chart.name },
    element("figcaption", {}, chart.title),
    chartPicture(chart),
  );
}

function noteList(notes: readonly Note[]): Markup[] {
  if (notes.length === 0) return [];
  return [
    element(
      "ul",
      { class: "notes" },
      notes.map(({ text, tone }) => element("li", { class: tone }, text)),
    ),
  ];
}

function factList(facts: Chapter["facts"]): Markup {
  return element(
    "dl",
    { class: "facts" },
    facts.map(([label, value]) => fragment(element("dt", {}, label), element("dd", {}, value))),
  );
}
