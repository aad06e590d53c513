import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { beforeAll, beforeEach, inject, onTestFinished } from "vitest";
import type { Chapter } from "../../src/draw/page/chapter.js";
import { page as pageOf } from "../../src/draw/page/page.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { resultChapter } from "../helpers/drawn.js";
import { buildDocument, sweepCells } from "../helpers/result-document.js";

/** Shows pages in a real browser, as a reader who opens the file sees them. */

/** A page that is open, and what it did that no page of pinbench may do. */
export interface ShownPage {
  page: Page;
  /** Errors and warnings of the console, and errors that nobody caught. */
  complaints: string[];
  /** Addresses that were asked for, but for that of the page itself. */
  requests: string[];
}

/** One for all files of tests that share the process, with which it ends. */
let browser: Browser | undefined;

/** Starts the browser for the tests of a file; skips them where there is none. */
export function useBrowser(): void {
  const missing = inject("chromiumMissing");
  beforeAll(async () => {
    if (missing !== null || browser !== undefined) return;
    // A sandbox needs rights that root in a container lacks.
    browser = await chromium.launch({ executablePath: inject("chromium"), args: ["--no-sandbox"] });
  });
  beforeEach(({ skip }) => skip(missing !== null, missing ?? undefined));
}

/** Shows the page of these documents, 1280 pixels wide and light unless `look` says otherwise. */
export function showResults(documents: readonly ResultDocument[], look?: BrowserContextOptions) {
  return showPage(documents.map(resultChapter), look);
}

/** Shows the page of these chapters. */
export function showPage(
  chapters: readonly Chapter[],
  look?: BrowserContextOptions,
  difference: Chapter | null = null,
): Promise<ShownPage> {
  return showHtml(pageOf(chapters, "0.1.0", difference), look);
}

/** A window of the browser, which one test after another may use. */
interface BrowserWindow extends ShownPage {
  /** What it may load. */
  address: string | null;
}

/** Windows that no test uses, by their look: opening one takes longer than all that a test does in it. */
const idle = new Map<string, BrowserWindow[]>();

/** Shows a file of HTML in a window, as one that was just opened: nothing is left of what a test before did in it. */
export async function showHtml(html: string, look: BrowserContextOptions = {}): Promise<ShownPage> {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "report.html");
  writeFileSync(file, html);
  const name = JSON.stringify(look);
  const window = idle.get(name)?.pop() ?? (await openWindow(look));
  onTestFinished(async ({ task }) => {
    if (task.result?.state === "fail") return window.page.context().close();
    await clear(window, look);
    idle.set(name, [...(idle.get(name) ?? []), window]);
  });
  window.address = pathToFileURL(file).href;
  await window.page.goto(window.address);
  return window;
}

const usualSize = { width: 1280, height: 900 };

async function openWindow(look: BrowserContextOptions): Promise<BrowserWindow> {
  const context = await browser!.newContext({ viewport: usualSize, ...look });
  const window: BrowserWindow = {
    page: await context.newPage(),
    complaints: [],
    requests: [],
    address: null,
  };
  await context.route("**/*", (route) => {
    if (route.request().url() === window.address) return route.continue();
    window.requests.push(route.request().url());
    return route.abort();
  });
  window.page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) window.complaints.push(message.text());
  });
  window.page.on("pageerror", (error) => window.complaints.push(String(error)));
  return window;
}

/** Leaves the page, and puts back what tests change of a window. */
async function clear(window: BrowserWindow, look: BrowserContextOptions): Promise<void> {
  const { page } = window;
  window.address = "about:blank";
  await page.goto("about:blank");
  await page.mouse.move(0, 0);
  await page.emulateMedia({ media: null });
  await page.setViewportSize(look.viewport ?? usualSize);
  window.complaints.length = 0;
  window.requests.length = 0;
}

/** Opens all tables, as a click on each would. */
export const openTables = (page: Page): Promise<void> =>
  page.locator("summary").evaluateAll((summaries) => {
    for (const summary of summaries) (summary as HTMLElement).click();
  });

/** A sweep of three kinds of memory in both directions, and another one, of half a year later and a bit slower. */
export function twoSweeps(): [ResultDocument, ResultDocument] {
  const now = buildDocument({ cells: sweepCells() });
  const later = { ...now.run, startedAt: "2027-05-20T10:00:00.000Z" };
  const slower = now.cells.map((cell) => ({
    ...cell,
    stats: cell.stats.map((stats) => ({
      ...stats,
      bandwidthGBps: { ...stats.bandwidthGBps, median: stats.bandwidthGBps.median * 0.98 },
    })),
  }));
  return [now, { ...now, run: later, cells: slower }];
}

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** What axe-core finds, each with the first element that it is about. */
export async function findings(page: Page): Promise<string[]> {
  // Evaluated by the browser's own hand, which the page's policy does not bind.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  const violations = (await page.evaluate(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as Violation[];
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

/** How many pixels of the page lie to the right of the window. */
export const overhang = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** Wide and narrow, light and dark. */
export const looks = [1280, 390].flatMap((width) =>
  (["light", "dark"] as const).map((colorScheme) => ({ viewport: { width, height: 900 }, colorScheme })),
);

/** Colours depend on the scheme, the rest on the width: two of the four looks show all, in half the time. */
export const screens = [
  { name: "a light screen", look: looks[0] },
  { name: "a dark phone", look: looks[3] },
];
