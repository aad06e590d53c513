import type { Chart } from "../chart/chart.js";
import { chartPicture } from "../chart/draw-chart.js";
import { element, fragment, type Markup } from "../chart/markup.js";
import { type Block, type Fact, type Grid, headingText, type Note } from "../report.js";
import type { Chapter } from "./chapter.js";

/**
 * One document of a page: what it comes to, its pictures, its details and tables, and where it was measured. Always as many
 * parts, empty ones too, so that those of documents beside each other stand at the same height.
 */
export function chapterSection({ report, charts }: Chapter, index: number, count: number): Markup {
  const { name, blocks } = report;
  const id = `document-${index + 1}`;
  const ofPart = (part: Part) => blocks.filter((block) => partOf(block) === part);
  return element(
    "section",
    { class: "chapter", id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, count > 1 ? `${index + 1}. ${name}` : name),
    element("div", { class: "first" }, drawBlocks(ofPart("first"), 3)),
    part(
      "Charts",
      charts.map((chart) => chartFigure(chart, id)),
      "charts",
    ),
    part("Details", drawBlocks(ofPart("details"), 4), "details"),
    part("Tables", drawBlocks(ofPart("tables"), 4), "tables"),
    part("Environment", drawBlocks(ofPart("environment"), 4), "environment"),
  );
}

type Part = "first" | "details" | "tables" | "environment";

function partOf(block: Block): Part {
  switch (block.type) {
    case "alert":
    case "answer":
    case "finding":
      return "first";
    case "table":
    case "note":
    case "fold":
      return "tables";
    case "facts":
      return block.isEnvironment ? "environment" : "details";
    case "section":
      return block.isSummary === true ? "first" : "details";
    default:
      return "details";
  }
}

/** Blocks one below the other: texts of a type that follow each other are one list. `level` is that of headings in them. */
function drawBlocks(blocks: readonly Block[], level: number): Markup[] {
  const runs: Block[][] = [];
  for (const block of blocks) {
    const run = runs.at(-1);
    if (run !== undefined && run[0]!.type === block.type) run.push(block);
    else runs.push([block]);
  }
  return runs.flatMap((run) => drawRun(run, level));
}

/** Blocks of one type. */
function drawRun(run: readonly Block[], level: number): Markup[] {
  const notes = run.flatMap((block) => ("tone" in block ? [block] : []));
  const [{ type }] = run as [Block];
  if (type === "alert" || type === "answer") return paragraphs(notes, type);
  if (notes.length > 0) return noteList(notes);
  return run.flatMap((block) => drawBlock(block, level));
}

function drawBlock(block: Block, level: number): Markup[] {
  switch (block.type) {
    case "facts":
      return block.facts.length === 0 ? [] : [factList(block.facts)];
    case "table":
      return [pageTable(block.grid)];
    case "entry":
      return [element("p", {}, block.text), factList(block.facts)];
    case "list":
      return noteList(block.items.map((text) => ({ text, tone: "muted" })));
    case "code":
      return [element("pre", { tabindex: 0 }, element("code", {}, block.text.trimEnd()))];
    // Its tables fold themselves away; what they are called tells them from those that are shown at once.
    case "fold":
      return drawBlocks(
        block.blocks.map((inner) => (inner.type === "table" ? withName(inner, block.title) : inner)),
        level,
      );
    case "section": {
      const title = block.title === "" ? [] : [element(`h${level}`, {}, headingText(block.title))];
      return [...title, ...drawBlocks(block.blocks, Math.min(level + 1, 6))];
    }
    default:
      return [];
  }
}

function withName(block: Extract<Block, { type: "table" }>, title: string): Block {
  const { caption, name } = block.grid;
  const own = caption ?? name;
  return { ...block, grid: { ...block.grid, caption: own === undefined ? title : `${title}: ${own}` } };
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

function factList(facts: readonly Fact[]): Markup {
  return element(
    "dl",
    { class: "facts" },
    facts.map(([label, value]) => fragment(element("dt", {}, label), element("dd", {}, value))),
  );
}

/** A table of so many rows or fewer is open from the start. */
const mostOpenRows = 8;

/**
 * A grid as a table of HTML, which scrolls by itself where the page is too narrow for it. A long one is closed until it
 * is asked for, or printed.
 */
function pageTable({ caption, name: ownName, columns, rows, footnote }: Grid): Markup {
  const head = columns.map(({ head, align }) =>
    element("th", { scope: "col", class: align }, head.join(" ").trim().replaceAll("/ ", "/")),
  );
  const body = rows.map((row) =>
    element(
      "tr",
      {},
      row.map(({ text, note, tone }, index) =>
        element(
          "td",
          { class: `${columns[index]!.align} ${tone}` },
          text,
          note !== "" && element("small", {}, ` ${note}`),
        ),
      ),
    ),
  );
  const name = caption ?? ownName ?? "Table";
  return element(
    "details",
    { open: rows.length <= mostOpenRows },
    element("summary", {}, name, element("small", {}, rows.length === 1 ? " 1 row" : ` ${rows.length} rows`)),
    element(
      "div",
      { class: "table", tabindex: 0, role: "region", "aria-label": name },
      element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)),
    ),
    footnote !== undefined && element("p", { class: "muted" }, footnote),
  );
}
