import { describe, expect, it } from "vitest";
import type { Chart } from "../../../src/draw/chart/chart.js";
import { chapterSection } from "../../../src/draw/page/chapter-section.js";
import {
  type Block,
  detail,
  environment,
  facts,
  figure,
  fold,
  type Grid,
  note,
  numberColumn,
  type Report,
  section,
  shortened,
  tables,
  texts,
  wordColumn,
} from "../../../src/draw/report.js";

function buildGrid(rows: number, part: Partial<Grid> = {}): Grid {
  return {
    caption: "Rates",
    columns: [wordColumn("size")],
    rows: Array.from({ length: rows }, (_, row) => [figure(`row ${row + 1} of ${rows}`)]),
    ...part,
  };
}

const buildChart = (part: Partial<Chart> = {}): Chart => ({
  kind: "bars",
  name: "bars",
  title: "Some bars",
  description: "One.",
  value: { label: "GB/s", scale: "linear", format: String },
  groups: [],
  ...(part as object),
});

const sectionOf = (
  blocks: Block[],
  charts: Chart[] = [buildChart()],
  file?: string,
  part: Partial<Report> = {},
): string =>
  chapterSection(
    {
      report: { command: "", version: "1", name: "A GPU", hasTerms: false, blocks, ...part },
      charts,
      ...(file !== undefined && { file }),
    },
    { id: "document-1", number: 1 },
  ).text;

const briefOf = (blocks: readonly Block[]) => ({ brief: { blocks, leavesOut: "the rest" } });

/** Requires that the section has these texts in this order. */
const inOrder = (html: string, ...texts: string[]) =>
  expect([...texts].sort((a, b) => html.indexOf(a) - html.indexOf(b))).toEqual(
    texts.filter((text) => html.includes(text)),
  );

describe("a document's section of a page", () => {
  it("keeps the lines of code, and makes control characters visible", () => {
    const text = "if (a < b) {\n\treturn;\n}\n";
    expect(sectionOf([{ type: "code", language: "c", text }])).toContain(
      '<pre tabindex="0"><code>if (a &lt; b) {\n\\treturn;\n}</code></pre>',
    );
  });

  it("shows code of up to twelve lines, and folds longer code", () => {
    const ofLines = (lines: number) =>
      sectionOf([{ type: "code", language: "c", text: Array(lines).fill("x;").join("\n") }]);
    expect(ofLines(12)).not.toContain("<details");
    expect(ofLines(13)).toContain("<summary>Program<small> 13 lines</small></summary>");
  });

  it("has alerts, headline figures and answers above the table, and findings below it", () => {
    const html = sectionOf([
      ...texts("answer", [note("It is fast.")]),
      ...texts("alert", [note("Wrong data.", "mismatch")]),
      { type: "answer", headline: [["pinned", "55.4 GB/s"]], ...note("64 MiB: pinned 55.4.") },
      ...tables([buildGrid(2)]),
      ...texts("finding", [note("More workers change nothing.")]),
    ]);
    expect(html).toContain('<dl class="headline"><div><dt>pinned</dt><dd>55.4 GB/s</dd></div></dl>');
    inOrder(html, "Wrong data.", "<dd>55.4 GB/s", "It is fast.", "row 1 of 2");
    inOrder(html, "<figure", "row 1 of 2", "More workers");
    expect(html).toContain('<p class="alert mismatch">Wrong data.</p>');
    expect(html.match(/row 1 of 2/g)).toHaveLength(1);
    expect(html).not.toContain("<h3>Tables</h3>");
  });

  it("has the tables of the brief view above the charts, and all tables below them", () => {
    const [brief, whole] = [buildGrid(2), buildGrid(12)].map((grid) => tables([grid]));
    const html = sectionOf(whole!, [buildChart(), buildChart({ name: "b" })], undefined, briefOf(brief!));
    inOrder(html, "row 1 of 2", "<h3>Charts</h3>", "<h3>Tables</h3>", "row 1 of 12");
  });

  it.each([24, 25])(
    "shows a table of up to 24 rows once, and a longer one that the brief view shortens twice: %i rows",
    (rows) => {
      const whole = tables([buildGrid(rows)]);
      const html = sectionOf(whole, undefined, undefined, briefOf(shortened(whole, 2)));
      expect(html.match(/row 1 of/g)).toHaveLength(rows > 24 ? 2 : 1);
      expect(html).toContain(`row ${rows} of ${rows}`);
    },
  );

  it("moves columns of details to the end of a table", () => {
    const columns = [wordColumn("cell"), detail(numberColumn("noise")), numberColumn("rate")];
    const rows = [["H2D", "1 %", "55.4"].map((text) => figure(text))];
    const html = sectionOf(tables([buildGrid(1, { columns, rows })]));
    inOrder(html, ">cell<", ">rate<", ">noise<");
    inOrder(html, ">H2D<", ">55.4<", ">1\u00a0%<");
  });

  it.each([
    ["opens a first table of up to 24 rows", 24, true],
    ["folds a first table of more than 24 rows", 25, false],
  ])("%s", (_, rows, isOpen) => {
    expect(sectionOf(tables([buildGrid(rows)])).includes("<details open")).toBe(isOpen);
  });

  it.each([
    ["opens a table of up to eight rows below the charts", 8, true],
    ["folds a table of more than eight rows below the charts", 9, false],
  ])("%s", (_, rows, isOpen) => {
    expect(
      sectionOf(tables([buildGrid(rows)]), undefined, undefined, briefOf([])).includes("<details open"),
    ).toBe(isOpen);
  });

  it("puts the name of a fold before those of its tables, and has them closed", () => {
    const own = { name: "by size" };
    const { caption: _, ...unnamed } = buildGrid(1);
    const html = sectionOf([fold("Plans", tables([buildGrid(1), { ...unnamed, ...own }, unnamed]))]);
    const names = [...html.matchAll(/<summary>([^<]*)<small> 1 row/g)].map(([, name]) => name);
    expect(names).toEqual(["Plans: Rates", "Plans: by size", "Plans"]);
    expect(html).not.toContain("<details open");
  });

  it("names a table without a caption by its name, or else Table", () => {
    const { caption: _, ...unnamed } = buildGrid(1);
    expect(sectionOf(tables([unnamed]))).toContain('aria-label="Table"');
    expect(sectionOf(tables([{ ...unnamed, name: "by size" }]))).toContain('aria-label="by size"');
  });

  it("shows a figure's note in the same cell, and wraps only a long text", () => {
    const rows = [[figure("55.4 GB/s", "±1 %", "failure")], [figure("x".repeat(25))]];
    const html = sectionOf(tables([buildGrid(2, { columns: [numberColumn("rate")], rows })]));
    expect(html).toContain('<td class="right failure">55.4\u00a0GB/s<small> ±1 %</small></td>');
    expect(html).toContain('<td class="right long plain">');
  });

  it("has nested sections with lower headings and all of their lists", () => {
    const inner = section("Inner", [...texts("note", [note("a"), note("b")]), facts([["Size", "1 MiB"]])]);
    const html = sectionOf([section("Outer", [inner])]);
    inOrder(html, "<h4>Outer</h4>", "<h5>Inner</h5>", ">a</li>", ">b</li>", "<dt>Size</dt>");
  });

  it("shows facts side by side if all are short", () => {
    const listOf = (...values: string[]) =>
      /<dl class="([^"]*)"/.exec(sectionOf([facts(values.map((value) => ["a", value]))]))![1];
    expect(listOf("x".repeat(24), "b")).toBe("facts short");
    expect(listOf("b", "x".repeat(25))).toBe("facts");
  });

  it("wraps no line inside a flag with its value or inside a time", () => {
    expect(sectionOf(texts("note", [note("Give --runs 5 at 12 ms.")]))).toContain(
      'Give <span class="whole-word">--runs 5</span> at 12\u00a0ms.',
    );
  });

  it("has the file's name in its heading if it is given", () => {
    expect(sectionOf([], [], "before.json")).toContain(">1. before.json: A GPU</h2>");
    expect(sectionOf([])).toContain(">1. A GPU</h2>");
  });

  it("has one list of its environment, and a heading for notes without tables", () => {
    const html = sectionOf([environment([["File", "a.json"]]), environment([["Driver", "580"]])]);
    expect(html.match(/<dl/g)).toHaveLength(1);
    expect(html).toContain("<h3>Environment</h3>");
    expect(html).not.toContain("<h3>Details</h3>");
    const notes = texts("note", [note("Noisy.")]);
    expect(sectionOf(notes)).toContain("<h3>Notes</h3>");
    expect(sectionOf([...notes, ...tables([buildGrid(1)])], undefined, undefined, briefOf([]))).toContain(
      "<h3>Tables</h3>",
    );
  });
});
