import { describe, expect, it } from "vitest";
import { drawMarkdown, escapeMarkdown } from "../../src/draw/draw-markdown.js";
import {
  type Block,
  environment,
  facts,
  figure,
  fold,
  note,
  numberColumn,
  section,
  tables,
  texts,
  wordColumn,
} from "../../src/draw/report.js";

describe("escapeMarkdown", () => {
  it.each([
    ["an image", "![x](https://evil.example/?leak)", String.raw`!\[x\](https\://evil.example/?leak)`],
    ["an address that would become a link", "www.evil.example", String.raw`www\.evil.example`],
    ["HTML", "<script>alert(1)</script>", String.raw`\<script\>alert(1)\</script\>`],
    ["an HTML entity", "&lt;b&gt; &#64;", String.raw`\&lt;b\&gt; \&#<!-- -->64;`],
    ["the end of a table's cell and row", "a | b\n| c |", String.raw`a \| b \| c \|`],
    ["emphasis and code", "*a* _b_ `c` ~~d~~", "\\*a\\* \\_b\\_ \\`c\\` \\~\\~d\\~\\~"],
    ["a formula", "$\\href{x}{y}$", String.raw`\$\\href{x}{y}\$`],
    ["a heading", "## Verified by us", String.raw`\## Verified by us`],
    ["a list", "- a", String.raw`\- a`],
    ["a numbered list", "12. a", String.raw`12\. a`],
    ["a horizontal rule", "---", String.raw`\---`],
    ["an underline that makes a heading of the line above", "=", String.raw`\=`],
    ["a heading behind blanks", "  ## Verified by us", String.raw`\## Verified by us`],
    ["an indented line that would become code", "      ok", "ok"],
    [
      "a user name that GitHub would notify",
      "@torvalds a@b.example",
      "@<!-- -->torvalds a@<!-- -->b.example",
    ],
    ["the number of an issue", "#12 GH-3", "#<!-- -->12 GH-<!-- -->3"],
  ])("shows %s as text", (_, text, escaped) => {
    expect(escapeMarkdown(text)).toBe(escaped);
  });

  it("leaves unchanged what pinbench itself writes", () => {
    for (const text of [
      "64 KiB × 4 workers: 55.4 GB/s (±1.2 %)",
      "d0: NVIDIA H200, PCIe 5.0 x16",
      "2.5x",
      "--verify every",
      "-2.5 %",
    ]) {
      expect(escapeMarkdown(text)).toBe(text);
    }
  });
});

const report = { command: "pin", version: "0.1.0", name: "a GPU", hasTerms: false };

it("Markdown has each sentence of the answer once: the first as the heading, the others below", () => {
  const text = "Pinned memory is 3.0× as fast. Pinning pays off.";
  const drawn = drawMarkdown({ ...report, blocks: [{ type: "answer", text, tone: "plain" }] });
  expect(drawn).toBe("## pinbench pin: Pinned memory is 3.0× as fast\n\n**Pinning pays off.**\n");
});

const markdown = (...blocks: Block[]) => drawMarkdown({ ...report, blocks });

it("Markdown without an answer has the report's name as the heading", () => {
  expect(markdown()).toBe("## pinbench pin: a GPU\n");
  expect(drawMarkdown({ ...report, command: "", blocks: [] })).toBe("## pinbench: a GPU\n");
});

it("Markdown has alerts above further answers, then findings, and environment and folded details last", () => {
  const text = markdown(
    fold("Plans", [...texts("note", [note("e")]), section("Inner:", texts("note", [note("f")]))]),
    environment([["Host", "node_1"]]),
    facts([["Size", "1 MiB"]]),
    section("Rates:", [section("Alone", texts("note", [note("d")]))]),
    ...texts("finding", [note("b", "failure"), note("b2", "mismatch"), note("b3", "warning")]),
    ...texts("answer", [note("First."), note("Second.")]),
    ...texts("alert", [note("a"), note("a2")]),
  );
  expect(text.split(/\n+/)).toEqual([
    ...["## pinbench pin: First", "> **a**", "> **a2**", "**Second.**"],
    ...["- **b**", "- **b2**", "- b3"],
    ...["- **Size:** 1 MiB", "### Rates", "#### Alone", "- d", "- **Host:** node\\_1"],
    ...["<details>", "<summary>Plans</summary>", "- e", "### Inner", "- f", "</details>", ""],
  ]);
});

it("Markdown lists notes together, and an entry with all its facts", () => {
  const text = markdown(...texts("note", [note("a"), note("b")]), {
    ...{ type: "entry", text: "*c*" },
    facts: [
      ["Set", "x=1"],
      ["", "*d*"],
    ],
  });
  expect(text.split("\n").slice(2, -1)).toEqual([
    ...["- a", "- b", "", "- \\*c\\*", "  - **Set:** x=1", "  - \\*d\\*"],
  ]);
});

it("Markdown has a table with its caption, its notes, its footnote, and no repeated labels", () => {
  const [row, again] = [
    [figure("a_1"), figure("b"), figure("55.4", "±1 %", "failure")],
    [figure("a_1"), figure("c"), figure("50.0")],
  ];
  const columns = [wordColumn("x"), wordColumn("y"), numberColumn("pinned/", "link")];
  const grid = { caption: "Rates_", columns, labels: 2, rows: [row!, again!], footnote: "±: *half*" };
  expect(
    markdown(...tables([grid]))
      .split("\n")
      .slice(2, -1),
  ).toEqual([
    ...["### Rates\\_", ""],
    ...["| x | y | pinned/link |", "| :--- | :--- | ---: |"],
    ...["| a\\_1 | b | **55.4 ±1 %** |", "|  | c | 50.0 |", "", "±: \\*half\\*"],
  ]);
});

/** The contents of blocks of fenced code, as CommonMark has them: each ends with a fence that is at least as long. */
function fencedCode(text: string): string[] {
  const found: string[] = [];
  const lines = text.split("\n").values();
  for (const line of lines) {
    const [, fence] = /^(`{3,})\w*$/.exec(line) ?? [];
    if (fence === undefined) continue;
    const block: string[] = [];
    for (const inside of lines) {
      if (/^`+$/.test(inside) && inside.length >= fence.length) break;
      block.push(inside);
    }
    found.push(block.join("\n"));
  }
  return found;
}

describe("a code block in Markdown", () => {
  it.each([0, 1, 2, 3, 4, 5])("keeps a text whole that has a line of %i backticks", (count) => {
    const text = ["first", "`".repeat(count), "last"].join("\n");
    const drawn = drawMarkdown({ ...report, blocks: [{ type: "code", language: "text", text }] });
    expect(fencedCode(drawn)).toEqual([text]);
  });
});
