import { describe, expect, it } from "vitest";
import type { Chart } from "../../../src/draw/chart/chart.js";
import { chapterSection } from "../../../src/draw/page/chapter-section.js";
import {
  type Block,
  details,
  environment,
  figure,
  type Grid,
  note,
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

const sectionOf = (blocks: Block[], charts: Chart[] = [buildChart()], file?: string): string =>
  chapterSection(
    {
      report: { command: "", version: "1", name: "A GPU", hasTerms: false, blocks },
      charts,
      samples: [],
      ...(file !== undefined && { file }),
    },
    { id: "document-1", number: 1 },
  ).text;

/** Where the texts stand, in their order in the section. */
const inOrder = (html: string, ...texts: string[]) =>
  expect([...texts].sort((a, b) => html.indexOf(a) - html.indexOf(b))).toEqual(
    texts.filter((text) => html.includes(text)),
  );

describe("a document's section", () => {
  it("has code in lines as it is, with what a page would obey made visible", () => {
    const text = "if (a < b) {\n\treturn;\n}\n";
    expect(sectionOf([{ type: "code", language: "c", text }])).toContain(
      '<pre tabindex="0"><code>if (a &lt; b) {\n\\treturn;\n}</code></pre>',
    );
  });

  it("has code of up to twelve lines open, and longer code behind its number of lines", () => {
    const ofLines = (lines: number) =>
      sectionOf([{ type: "code", language: "c", text: Array(lines).fill("x;").join("\n") }]);
    expect(ofLines(12)).not.toContain("<details");
    expect(ofLines(13)).toContain("<summary>Program<small> 13 lines</small></summary>");
  });

  it("has the figures of its headline first, then sentences, the table that shows them, findings and charts", () => {
    const html = sectionOf([
      ...texts("answer", [note("It is fast.")]),
      { type: "answer", headline: [["pinned", "55.4 GB/s"]], ...note("64 MiB: pinned 55.4.") },
      ...tables([buildGrid(2)]),
      ...texts("finding", [note("More workers change nothing.")]),
    ]);
    expect(html).toContain('<dl class="headline"><div><dt>pinned</dt><dd>55.4 GB/s</dd></div></dl>');
    inOrder(html, "<dd>55.4 GB/s", "It is fast.", "row 1 of 2", "More workers", "<h3>Charts</h3>");
    expect(html.match(/row 1 of 2/g)).toHaveLength(1);
    expect(html).not.toContain("<h3>Tables</h3>");
  });

  it("shows the main rows of a long table first, and all of them below the charts", () => {
    const html = sectionOf(tables([buildGrid(12, { keyRows: [3, 11] })]));
    inOrder(html, "2 of 12 rows", "<h3>Charts</h3>", "<h3>Tables</h3>");
    expect(html.match(/row 4 of 12/g)).toHaveLength(2);
    expect(html.match(/row 5 of 12/g)).toHaveLength(1);
  });

  it("shows tables of the same columns together, and leaves others and those of details below", () => {
    const html = sectionOf([
      ...details(tables([buildGrid(1)])),
      ...tables([buildGrid(2), buildGrid(3), buildGrid(4, { columns: [wordColumn("workers")] })]),
    ]);
    inOrder(html, "row 1 of 2", "row 1 of 3", "<h3>Charts</h3>", "row 1 of 1", "row 1 of 4");
  });

  it("folds away charts that few readers need, and says how many", () => {
    const html = sectionOf(
      [],
      [buildChart(), buildChart({ name: "rare", title: "A rare one", isFolded: true })],
    );
    expect(html).toMatch(/<details class="more"><summary>More charts<small> 1<\/small>.*A rare one/);
    inOrder(html, "Some bars", "More charts", "A rare one");
    expect(sectionOf([])).not.toContain("More charts");
  });

  it("has the file's name in its heading if it is given", () => {
    expect(sectionOf([], [], "before.json")).toContain(">1. before.json: A GPU</h2>");
    expect(sectionOf([])).toContain(">1. A GPU</h2>");
  });

  it("has one list of what it holds for, and calls notes alone no tables", () => {
    const html = sectionOf([environment([["File", "a.json"]]), environment([["Driver", "580"]])]);
    expect(html.match(/<dl/g)).toHaveLength(1);
    expect(sectionOf(texts("note", [note("Noisy.")]))).toContain("<h3>Notes</h3>");
  });
});
