import { describe, expect, it } from "vitest";
import type { Chart } from "../../../src/draw/chart/chart.js";
import type { Chapter, SampleSeries } from "../../../src/draw/page/chapter.js";
import { page } from "../../../src/draw/page/page.js";
import { type SampleData, sampleData } from "../../../src/draw/page/sample-data.js";

const value = { label: "GB/s", scale: "linear", format: String } as const;
const chart: Chart = { kind: "bars", name: "bars", title: "Bars", description: "", value, groups: [] };

const buildSeries = (part: Partial<SampleSeries> = {}): SampleSeries => ({
  ...{ id: "a", name: "H2D", style: 0, direction: "h2d", process: null, unit: "GB/s" },
  startMs: [0, 1],
  values: [50, 51],
  ...part,
});

const chapterOf = (name: string, part: Partial<Chapter> = {}): Chapter => ({
  report: { command: "", version: "1", name, hasTerms: false, blocks: [] },
  ...{ charts: [chart], samples: [] },
  ...part,
});

const scriptsIn = (html: string) => html.match(/<script type="module">/g)?.length ?? 0;
const dataIn = (html: string, id: string) => html.includes(`<script type="application/json" id="${id}">`);
const titleIn = (html: string) => /<title>(.*?)<\/title>/.exec(html)![1];

describe("a page", () => {
  it("of one document is called like it, and has neither a number nor contents", () => {
    const html = page([chapterOf("H200")], "1.2.3");
    expect(titleIn(html)).toBe("pinbench: H200");
    expect(html).toContain('content="pinbench 1.2.3"');
    expect(html).toContain(">H200</h2>");
    expect(html).toContain('<main class="single">');
    expect(html).not.toContain("<nav");
  });

  it.each([
    [2, "several pair"],
    [3, "several"],
  ])("of %i documents leads to each of them by its number", (count, name) => {
    const html = page(
      ["H200", "H100", "A100"].slice(0, count).map((one) => chapterOf(one)),
      "1.2.3",
    );
    expect(titleIn(html)).toBe(`pinbench: ${count} documents`);
    expect(html).toContain(`<main class="${name}">`);
    const links = [...html.matchAll(/<a href="#([^"]*)">([^<]*)</g)];
    expect(links).toHaveLength(count);
    for (const [index, [, id, text]] of links.entries()) {
      expect(html).toMatch(new RegExp(`<section [^>]*id="${id}".*?>${index + 1}\\. ${text}</h2>`, "s"));
    }
  });

  it("shows the difference of two documents above both, in full width and without a number", () => {
    const html = page([chapterOf("H200"), chapterOf("H100")], "1", chapterOf("The change"));
    const sections = [...html.matchAll(/<section class="([^"]*)" id="([^"]*)"/g)].map(([, ...one]) => one);
    expect(sections).toEqual([
      ["chapter whole", "difference"],
      ["chapter", "document-1"],
      ["chapter", "document-2"],
    ]);
    expect(html).toContain(">The change</h2>");
  });

  it("has only the scripts and the data that it needs", () => {
    const withSamples = chapterOf("H200", { samples: [buildSeries()] });
    const counted = (...chapters: Chapter[]) => scriptsIn(page(chapters, "1"));
    expect(counted(chapterOf("H200", { charts: [] }))).toBe(0);
    expect(counted(chapterOf("H200"))).toBe(2);
    expect(counted(withSamples)).toBe(3);
    expect(counted(chapterOf("H200", { charts: [] }), withSamples)).toBe(4);
    for (const id of ["samples", "marks"]) {
      expect(dataIn(page([chapterOf("H200")], "1"), id)).toBe(false);
      expect(dataIn(page([chapterOf("H200"), withSamples], "1"), id)).toBe(true);
    }
  });
});

describe("the samples of a page's script", () => {
  const encoded = (...series: SampleSeries[]) =>
    (JSON.parse(sampleData([chapterOf("H200", { samples: series })])) as SampleData)[0]!;

  it("say which cell of the chapter and which process each series is of", () => {
    const series = encoded(
      buildSeries({ id: "b", process: 0 }),
      buildSeries({ id: "b", process: 1, style: 1, unit: "µs" }),
      buildSeries({ id: "a", process: 0 }),
    );
    expect(series.map(({ cell, process, style, unit }) => [cell, process, style, unit])).toEqual([
      [0, 0, 0, "GB/s"],
      [0, 1, 1, "µs"],
      [1, 0, 0, "GB/s"],
    ]);
  });

  it.each([
    ["nothing at all", [0, 0]],
    ["the smallest values", [1e-12, 2e-12]],
    ["values that hardly differ", [55_400, 55_400 + 2e-11]],
    ["large values of a small range", [55_400.001, 55_400.002]],
  ])("keep %s", (_, values) => {
    const [series] = encoded(buildSeries({ values, startMs: [0.1, 0.3] }));
    const { leastValue, valueStep } = series!;
    expect([leastValue, ...series!.values].every(Number.isSafeInteger)).toBe(true);
    const kept = series!.values.map((step) => (leastValue + step) * valueStep);
    for (const [index, one] of kept.entries()) expect(one / values[index]! || 1).toBeCloseTo(1, 8);
    expect(series!.startSteps).toEqual([1, 2]);
  });
});
