import type { Chart } from "../chart/chart.js";
import { chartPicture } from "../chart/draw-chart.js";
import { element, fragment, Markup } from "../chart/markup.js";
import { type Block, type Fact, type Grid, headingText, type Note, type Report } from "../report.js";
import { counted, unbroken } from "../words.js";
import type { Chapter } from "./chapter.js";

/** A document's section: answer, first chart, main tables; other charts, details, tables, environment. */
export function chapterSection(chapter: Chapter, { id, number }: SectionPlace): Markup {
  const { report, charts } = chapter;
  const main = mainGrids(report);
  const ofPart = (part: ChapterPart) =>
    report.blocks.filter(
      (block) => partOf(block) === part && !(block.type === "table" && main.includes(block.grid)),
    );
  const tables = ofPart("tables");
  const [first, ...others] = charts.map((chart) => chartFigure(chart, id));
  const title = number === undefined ? titleOf(chapter) : `${number}. ${titleOf(chapter)}`;
  return element(
    "section",
    { class: "chapter", id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, prose(title)),
    element(
      "div",
      { class: "first" },
      element("div", {}, drawBlocks(ofPart("first").sort(byRank), 3)),
      first !== undefined && element("div", { class: "charts" }, first),
      element(
        "div",
        { class: "main-tables" },
        main.map((grid) => pageTable(grid, mostMainRows)),
        drawBlocks(ofPart("findings"), 3),
      ),
    ),
    part("Charts", others, "charts"),
    part("Details", drawBlocks(ofPart("details"), 4), "details"),
    part(tables.every(({ type }) => type === "note") ? "Notes" : "Tables", drawBlocks(tables, 4), "tables"),
    part("Environment", drawBlocks(ofPart("environment"), 4), "environment"),
  );
}

export function titleOf({ file, report }: Chapter): string {
  return file === undefined ? report.name : `${file}: ${report.name}`;
}

interface SectionPlace {
  id: string;
  /** Number among several documents; absent for a single one. */
  number?: number;
}

function byRank(a: Block, b: Block): number {
  const rank = (block: Block) =>
    block.type === "alert" ? 0 : block.type === "answer" && block.headline !== undefined ? 1 : 2;
  return rank(a) - rank(b);
}

/** The tables of the brief view, in full unless they are long; without a brief view only the first table. */
function mainGrids({ blocks, brief }: Report): Grid[] {
  const grids = (brief?.blocks ?? blocks).flatMap((block) => {
    if (block.type !== "table") return [];
    const { grid, whole = grid } = block;
    return [whole.rows.length <= mostMainRows ? whole : grid];
  });
  return brief === undefined ? grids.slice(0, 1) : grids;
}

type ChapterPart = "first" | "findings" | "details" | "tables" | "environment";

function partOf(block: Block): ChapterPart {
  switch (block.type) {
    case "alert":
    case "answer":
      return "first";
    case "finding":
      return "findings";
    case "table":
    case "note":
    case "fold":
      return "tables";
    case "facts":
      return block.isEnvironment ? "environment" : "details";
    default:
      return "details";
  }
}

/** Draws blocks in order; consecutive texts of a type become one list. `level` is the level of their headings. */
function drawBlocks(blocks: readonly Block[], level: number): Markup[] {
  const runs: Block[][] = [];
  for (const block of blocks) {
    const run = runs.at(-1);
    if (run !== undefined && run[0]!.type === block.type) run.push(block);
    else runs.push([block]);
  }
  return runs.flatMap((run) => drawRun(run, level));
}

function drawRun(run: readonly Block[], level: number): Markup[] {
  const notes = run.flatMap((block) => ("tone" in block ? [block] : []));
  const [{ type }] = run as [Block];
  if (type === "alert") return paragraphs(notes, type);
  if (type === "answer") return run.flatMap((block) => (block.type === "answer" ? drawAnswer(block) : []));
  // The document's file is listed with its facts.
  if (type === "facts") {
    const all = run.flatMap((block) => (block.type === "facts" ? block.facts : []));
    return all.length === 0 ? [] : [factList(all)];
  }
  if (notes.length > 0) return noteList(notes);
  return run.flatMap((block) => drawBlock(block, level));
}

const mostOpenLines = 12;

function codeSection(code: string): Markup {
  const pre = element("pre", { tabindex: 0 }, element("code", {}, codeLines(code)));
  const lines = code.split("\n").length;
  if (lines <= mostOpenLines) return pre;
  const summary = element("summary", {}, "Program", element("small", {}, ` ${counted(lines, "line")}`));
  return element("details", {}, summary, pre);
}

/** Code keeps its line breaks; other texts show them as escapes. */
function codeLines(code: string): (Markup | string)[] {
  return code.split("\n").flatMap((line, index) => (index === 0 ? [line] : [new Markup("\n"), line]));
}

function drawBlock(block: Block, level: number): Markup[] {
  switch (block.type) {
    case "table":
      return [pageTable(block.grid)];
    case "entry":
      return [element("p", {}, prose(block.text)), factList(block.facts)];
    case "code":
      return [codeSection(block.text.trimEnd())];
    // A fold's tables are closed. Their names include its title, to distinguish them from the main tables.
    case "fold":
      return block.blocks.flatMap((inner) =>
        inner.type === "table"
          ? pageTable({ ...inner.grid, caption: nameIn(block.title, inner.grid) }, 0)
          : drawBlocks([inner], level),
      );
    case "section": {
      const title = block.title === "" ? [] : [element(`h${level}`, {}, headingText(block.title))];
      return [...title, ...drawBlocks(block.blocks, Math.min(level + 1, 6))];
    }
    default:
      return [];
  }
}

function nameIn(title: string, { caption, name }: Grid): string {
  const own = caption ?? name;
  return own === undefined ? title : `${title}: ${own}`;
}

function part(heading: string, content: Markup[], name: string): Markup | false {
  return content.length > 0 && fragment(element("h3", {}, heading), element("div", { class: name }, content));
}

function drawAnswer({ headline, ...answer }: Extract<Block, { type: "answer" }>): Markup[] {
  if (headline === undefined) return paragraphs([answer], "answer");
  const figures = headline.map(([label, value]) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, value)),
  );
  return [
    element("dl", { class: "headline" }, figures),
    element("p", { class: "muted" }, prose(answer.text)),
  ];
}

function breakable(text: string): Markup {
  const [first, ...others] = text.split(/\/(?=\w{2})/);
  return fragment(
    first,
    others.map((part) => fragment("/", element("wbr", {}), part)),
  );
}

/** Text that must not wrap at its hyphens: a flag with its number, "--runs 5", or a time, "2026-11-21 10:22 UTC". */
const whole = /(--[a-z][a-z-]{1,24}(?![\w-])(?: \d{1,4}(?!\S))?|\d{4}-\d\d-\d\d(?: \d\d:\d\d UTC)?)/;

/** Running text. Blanks in flags stay plain, so that copied commands work. */
function prose(text: string): Markup {
  return fragment(
    text
      .split(whole)
      .map((part, index) =>
        index % 2 === 0 ? unbroken(part) : element("span", { class: "whole-word" }, part),
      ),
  );
}

function paragraphs(notes: readonly Note[], name: string): Markup[] {
  return notes.map(({ text, tone }) => element("p", { class: `${name} ${tone}` }, prose(text)));
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
      notes.map(({ text, tone }) => element("li", { class: tone }, prose(text))),
    ),
  ];
}

function factList(facts: readonly Fact[]): Markup {
  return element(
    "dl",
    { class: facts.every(([, value]) => value.length <= mostUnwrapped) ? "facts short" : "facts" },
    facts.map(([label, value]) => fragment(element("dt", {}, label), element("dd", {}, prose(value)))),
  );
}

const mostUnwrapped = 24;

const [mostOpenRows, mostMainRows] = [8, 24];

/**
 * A grid as an HTML table, with details in the last columns; it scrolls on narrow pages. A long table is folded until
 * the reader opens it or prints the page.
 */
function pageTable(grid: Grid, mostOpen = mostOpenRows): Markup {
  const { caption, name: ownName, rows, footnote } = grid;
  const isMain = (_: unknown, column: number) => grid.columns[column]!.isDetail !== true;
  const mainFirst = <Cell>(row: readonly Cell[]) => [
    ...row.filter(isMain),
    ...row.filter((cell, column) => !isMain(cell, column)),
  ];
  const columns = mainFirst(grid.columns);
  const head = columns.map(({ head, align }) => {
    const text = head.join(" ").trim().replaceAll("/ ", "/");
    return text === "" ? element("td", {}) : element("th", { scope: "col", class: align }, breakable(text));
  });
  const body = rows.map((row) =>
    element(
      "tr",
      {},
      mainFirst(row).map(({ text, note, tone }, index) =>
        element(
          "td",
          { class: `${columns[index]!.align}${text.length > mostUnwrapped ? " long" : ""} ${tone}` },
          unbroken(text),
          note !== "" && element("small", {}, ` ${note}`),
        ),
      ),
    ),
  );
  const name = caption ?? ownName ?? "Table";
  return element(
    "details",
    { open: rows.length <= mostOpen },
    element("summary", {}, name, element("small", {}, ` ${counted(rows.length, "row")}`)),
    element(
      "div",
      { class: "table", tabindex: 0, role: "group", "aria-label": name },
      element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)),
    ),
    footnote !== undefined && element("p", { class: "muted" }, prose(footnote)),
  );
}
