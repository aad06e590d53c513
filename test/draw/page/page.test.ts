import { describe, expect, it } from "vitest";
import type { Chart } from "../../../src/draw/chart/chart.js";
import type { Chapter } from "../../../src/draw/page/chapter.js";
import { page } from "../../../src/draw/page/page.js";

const value = { label: "GB/s", scale: "linear", format: String } as const;
const chart: Chart = { kind: "bars", name: "bars", title: "Bars", description: "", value, groups: [] };

const chapterOf = (name: string, part: Partial<Chapter> = {}): Chapter => ({
  report: { command: "", version: "1", name, hasTerms: false, blocks: [] },
  charts: [chart],
  ...part,
});

const scriptsIn = (html: string) => html.match(/<script type="module">/g)?.length ?? 0;
const titleIn = (html: string) => /<title>(.*?)<\/title>/.exec(html)![1];

describe("a page", () => {
  it("of one document has its title, but no number and no table of contents", () => {
    const html = page([chapterOf("H200")], "1.2.3");
    expect(titleIn(html)).toBe("pinbench: H200");
    expect(html).toContain('content="pinbench 1.2.3"');
    expect(html).toContain(">H200</h2>");
    expect(html).not.toContain("<nav");
  });

  it.each([
    [2, "H200 and H100"],
    [3, "H200, H100 and A100"],
  ])("of %i documents has a title of their names, and links to each by its number", (count, title) => {
    const html = page(
      ["H200", "H100", "A100"].slice(0, count).map((one) => chapterOf(one)),
      "1.2.3",
    );
    expect(titleIn(html)).toBe(`pinbench: ${title}`);
    const links = [...html.matchAll(/<a href="#([^"]*)">([^<]*)</g)];
    expect(links).toHaveLength(count);
    for (const [index, [, id, text]] of links.entries()) {
      expect(html).toMatch(new RegExp(`<section [^>]*id="${id}".*?>${index + 1}\\. ${text}</h2>`, "s"));
    }
  });

  it("shows the comparison of two documents above both, and has its title", () => {
    const html = page([chapterOf("H200"), chapterOf("H100")], "1", chapterOf("The change"));
    const sections = [...html.matchAll(/<section class="chapter" id="([^"]*)"/g)].map(([, id]) => id);
    expect(sections).toEqual(["difference", "document-1", "document-2"]);
    expect(titleIn(html)).toBe("pinbench: The change");
    expect(html).toContain(">The change</h2>");
  });

  it("has scripts only if there is a chart", () => {
    const counted = (...chapters: Chapter[]) => scriptsIn(page(chapters, "1"));
    expect(counted(chapterOf("H200", { charts: [] }))).toBe(0);
    expect(counted(chapterOf("H200"))).toBe(2);
  });
});
