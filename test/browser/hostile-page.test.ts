import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Chapter } from "../../src/draw/page/chapter.js";
import { page as pageOf } from "../../src/draw/page/page.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { resultChapter } from "../helpers/drawn.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildFailed,
  buildSkipped,
  MiB,
  sweepCells,
} from "../helpers/result-document.js";
import { openTables, overhang, type ShownPage, showHtml, showPage, useBrowser } from "./shown-page.js";

/** Results may come from anybody: their texts are shown, but must not run anything or break the page. */

useBrowser();

const texts = {
  "an image that runs a script": `<img src="https://evil.example/i.png" onerror="window.ran=1">`,
  "a script": `<script>window.ran=1</script>`,
  "the end of a script and a new one": `</script><script>window.ran=1</script>`,
  "the end tags of all elements around it": `"></title></style></textarea></select></svg></table><iframe src="https://evil.example/">`,
  "quotes that would end an attribute": `" onload="window.ran=1" x='`,
  "the ends of comments and of sections": `--><!-- ]]><![CDATA[ <script>window.ran=1</script>`,
  "HTML entities": "&lt;script&gt;window.ran=1&lt;/script&gt; &#60;b&#62;",
  "a javascript: address": "javascript:window.ran=1",
  "an element that is not closed": `<svg onload=window.ran=1><style>@import "https://evil.example/s.css";body{display:none}`,
  "marks that reverse the direction of text": "GPU \u202egnp.evil\u202c \u2066x\u2069 \u200f",
  "control characters": "a\u0000b\u0007c\u001b[2Jd\r\ne\u2028f",
  "emoji and halves of characters": "👩‍🚀 \ud83d \ude80 \uffff é̂̂̂̂",
  "10 kB without a blank": "x".repeat(10_000),
  "10 kB of words": "overlong words ".repeat(700),
} as const;

/** A result that has the text wherever a machine, a user or a driver can put one. */
function documentOf(text: string): ResultDocument {
  return buildDocument({
    devices: [buildDevice({ name: text, uuid: text, pciBusId: text })],
    host: {
      hostname: text,
      cpuModel: text,
      kernel: text,
      container: text,
      governor: text,
      virtualization: text,
    },
    driverVersion: text,
    cudaVersion: text,
    run: { argv: ["run", text], status: "failed", error: { code: text, message: text } as never, id: text },
    plan: { notes: [text], preset: text as never },
    cells: [
      ...sweepCells(),
      buildFailed({ sizeBytes: 1 * MiB, workers: 8 }, text, text),
      buildSkipped({ sizeBytes: 2 * MiB, workers: 8 }, text),
      buildCell({ sizeBytes: 4 * MiB, workers: 8, GBps: 50, result: { warnings: [text] } }),
    ],
  });
}

/** The chapter with the text in place of all others but the names of charts, which are pinbench's own. */
function chapterOf(text: string): Chapter {
  const replaced = (value: unknown, key: string): unknown => {
    if (typeof value === "string") return isOwn.has(key) ? value : text;
    if (Array.isArray(value)) return value.map((entry) => replaced(entry, key));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, replaced(entry, name)]));
  };
  const chapter = resultChapter(buildDocument({ cells: sweepCells() }));
  const named = (value: Chapter) => value.charts.map(({ name }) => name);
  const hostile = replaced(chapter, "") as Chapter;
  const charts = hostile.charts.map((chart, index) => ({ ...chart, name: named(chapter)[index]! }));
  return { ...hostile, charts };
}

/** Fields whose values pinbench itself chooses. */
const isOwn = new Set(["kind", "scale", "axis", "tone", "align", "unit", "direction"]);

async function expectHarmless({ page, complaints, requests }: ShownPage, text: string): Promise<void> {
  expect(await page.evaluate(() => (window as { ran?: unknown }).ran)).toBeUndefined();
  expect(requests).toEqual([]);
  // Anything that the page's policy blocked would stand here: nothing was even tried.
  expect(complaints).toEqual([]);
  expect(await page.locator("img, iframe, form, link, object, embed, style:not(head style)").count()).toBe(0);
  expect(await page.locator("main").getByRole("heading", { level: 2 }).count()).toBeGreaterThan(0);
  const all = await page.evaluate(() => document.documentElement.outerHTML);
  expect(new Set(all.match(obeyed))).toEqual(new Set());
  if (text.includes("evil.example")) expect(all.includes("evil.example")).toBe(true);
}

/** Characters that reverse the direction of text, and control characters except line feeds. */
const obeyed = /\p{Bidi_Control}|[^\P{Cc}\n]|[\u2028\u2029]/gu;

async function useEverything(page: Page): Promise<void> {
  await openTables(page);
  for (const chapter of ["#document-1", "#document-2"]) {
    await page.locator(`${chapter} figure`).first().getByRole("application").focus();
    await page.keyboard.press("ArrowRight");
  }
  for (const select of await page.locator("select").all()) {
    const count = await select.locator("option").count();
    await select.selectOption({ index: count - 1 });
  }
}

async function expectShape(page: Page): Promise<void> {
  for (const width of [1200, 400]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await overhang(page)).toBe(0);
  }
}

it.each(Object.entries(texts))(
  "an HTML page shows %s in any of its texts as text, runs nothing and keeps its layout",
  async (_, text) => {
    const shown = await showPage([resultChapter(documentOf(text)), chapterOf(text)]);
    await expectShape(shown.page);
    await useEverything(shown.page);
    await expectShape(shown.page);
    await expectHarmless(shown, text);
  },
);

describe("the page's content security policy", () => {
  const html = pageOf([resultChapter(documentOf("a machine"))], "0.1.0");
  it.each([
    ["a script", "<script>window.ran = 1</script>"],
    ["a module", '<script type="module">window.ran = 1</script>'],
    ["a script from another site", '<script src="https://evil.example/a.js"></script>'],
    [
      "an element's event handler",
      '<svg onload="window.ran = 1"></svg><img src="data:," onerror="window.ran = 1">',
    ],
    ["an image", '<img src="https://evil.example/i.png">'],
    ["a style sheet", '<link rel="stylesheet" href="https://evil.example/s.css">'],
    ["a style element", "<style>body { background: url(https://evil.example/i.png) }</style>"],
    ["an iframe", '<iframe src="https://evil.example/"></iframe>'],
    ["an embedded object", '<object data="https://evil.example/"></object>'],
    ["a sound", '<audio src="https://evil.example/a.ogg" autoplay></audio>'],
  ])("blocks %s even if the page failed to escape it", async (_, injected) => {
    const shown = await showHtml(html.replace("</h2>", `</h2>${injected}`));
    await expect.poll(() => shown.complaints.join()).toMatch(/Content Security Policy/);
    expect(await shown.page.evaluate(() => (window as { ran?: unknown }).ran)).toBeUndefined();
    expect(shown.requests).toEqual([]);
  });

  it("blocks a base address and a form that point to another site", async () => {
    const base = await showHtml(html.replace("</h2>", '</h2><base href="https://evil.example/">'));
    await expect.poll(() => base.complaints.join()).toMatch(/base-uri/);
    const form = await showHtml(
      html.replace("</h2>", '</h2><form action="https://evil.example/"><button id="send">x</button></form>'),
    );
    await form.page.evaluate(() => document.querySelector<HTMLButtonElement>("#send")!.click());
    await expect.poll(() => form.complaints.join()).toMatch(/form-action/);
    expect(form.requests).toEqual([]);
  });
});
