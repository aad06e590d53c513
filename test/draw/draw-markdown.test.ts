import { describe, expect, it } from "vitest";
import { drawMarkdown, escapeMarkdown } from "../../src/draw/draw-markdown.js";

describe("escapeMarkdown", () => {
  it.each([
    ["an image", "![x](https://evil.example/?leak)", String.raw`!\[x\](https\://evil.example/?leak)`],
    ["an address that would become a link", "www.evil.example", String.raw`www\.evil.example`],
    ["HTML", "<script>alert(1)</script>", String.raw`\<script\>alert(1)\</script\>`],
    ["an entity, which is no character then", "&lt;b&gt; &#64;", String.raw`\&lt;b\&gt; \&#<!-- -->64;`],
    ["the end of a cell and of a row", "a | b\n| c |", String.raw`a \| b \| c \|`],
    ["emphasis and code", "*a* _b_ `c` ~~d~~", "\\*a\\* \\_b\\_ \\`c\\` \\~\\~d\\~\\~"],
    ["a formula", "$\\href{x}{y}$", String.raw`\$\\href{x}{y}\$`],
    ["a heading", "## Verified by us", String.raw`\## Verified by us`],
    ["a list", "- a", String.raw`\- a`],
    ["a numbered list", "12. a", String.raw`12\. a`],
    ["a rule", "---", String.raw`\---`],
    ["what makes a heading of the line above", "=", String.raw`\=`],
    ["a heading behind blanks", "  ## Verified by us", String.raw`\## Verified by us`],
    ["code, which blanks would make of it", "      ok", "ok"],
    [
      "a name that GitHub would send a message",
      "@torvalds a@b.example",
      "@<!-- -->torvalds a@<!-- -->b.example",
    ],
    ["the number of an issue", "#12 GH-3", "#<!-- -->12 GH-<!-- -->3"],
  ])("shows %s as text", (_, text, escaped) => {
    expect(escapeMarkdown(text)).toBe(escaped);
  });

  it("leaves alone what pinbench itself writes", () => {
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

it("says each sentence of the answer once: the first as the heading, the others below", () => {
  const text = "Pinned memory is 3.0× as fast. Pinning pays off.";
  const drawn = drawMarkdown({ ...report, blocks: [{ type: "answer", text, tone: "plain" }] });
  expect(drawn).toBe("## pinbench pin: Pinned memory is 3.0× as fast\n\n**Pinning pays off.**\n");
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

describe("a block of code", () => {
  it.each([0, 1, 2, 3, 4, 5])("holds a text whole that has a line of %i backticks", (count) => {
    const text = ["first", "`".repeat(count), "last"].join("\n");
    const drawn = drawMarkdown({ ...report, blocks: [{ type: "code", language: "text", text }] });
    expect(fencedCode(drawn)).toEqual([text]);
  });
});
