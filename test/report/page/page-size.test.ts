import { expect, it } from "vitest";
import { page } from "../../../src/draw/page/page.js";
import { resultChapter } from "../../helpers/drawn.js";
import { buildDocument, sweepCells } from "../../helpers/result-document.js";

/** `node bench page` measures the size of pages with real numbers of samples. */
it("the page of a default run takes at most 300 kB, and its scripts at most 15 kB", () => {
  const html = page([resultChapter(buildDocument({ cells: sweepCells() }))], "0.1.0");
  expect(Buffer.byteLength(html)).toBeLessThan(300_000);
  const scripts = [...html.matchAll(/<script type="module">(.*?)<\/script>/gs)].map(([, script]) => script!);
  expect(scripts).toHaveLength(2);
  expect(Buffer.byteLength(scripts.join(""))).toBeLessThan(15_000);
});
