import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, inject, onTestFinished } from "vitest";
import type { Chapter } from "../../src/report/page/chapter.js";
import { page as pageOf } from "../../src/report/page/page.js";
import { resultChapter } from "../../src/report/page/result-chapter.js";
import { printableDocument } from "../../src/report/printable-text.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildDocument, defaultSweepCells } from "../helpers/result-document.js";

/** Shows pages in a real browser, as whoever opens the file sees them. */

/** A page that is open, and what it did that no page of pinbench may do. */
export interface ShownPage {
  page: Page;
  /** Errors and warnings of the console, and errors that nobody caught. */
  complaints: string[];
  /** Addresses that were asked for, but for that of the page itself. */
  requests: string[];
}

let browser: Browser | undefined;

/** Starts the browser for the tests of a file, and ends it; skips them where there is none. */
export function useBrowser(): void {
  const missing = inject("chromiumMissing");
  beforeAll(async () => {
    if (missing !== null) return;
    // A sandbox needs rights that root in a container lacks.
    browser = await chromium.launch({ executablePath: inject("chromium"), args: ["--no-sandbox"] });
  });
  afterAll(() => browser?.close());
  beforeEach(({ skip }) => skip(missing !== null, missing ?? undefined));
}

/** Shows the page of these documents, 1200 pixels wide and light unless `look` says otherwise. */
export function showResults(documents: readonly ResultDocument[], look?: BrowserContextOptions) {
  return showPage(
    documents.map((document) => resultChapter(printableDocument(document))),
    look,
  );
}

/** Shows the page of these chapters. */
export function showPage(chapters: readonly Chapter[], look?: BrowserContextOptions): Promise<ShownPage> {
  return showHtml(pageOf(chapters, "0.1.0"), look);
}

/** Shows a file of HTML in a window of its own, which is closed when the test is over. */
export async function showHtml(html: string, look: BrowserContextOptions = {}): Promise<ShownPage> {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "report.html");
  writeFileSync(file, html);
  const context = await browser!.newContext({ viewport: { width: 1200, height: 900 }, ...look });
  onTestFinished(() => context.close());
  const complaints: string[] = [];
  const requests: string[] = [];
  const address = pathToFileURL(file).href;
  await context.route("**/*", (route) => {
    if (route.request().url() === address) return route.continue();
    requests.push(route.request().url());
    return route.abort();
  });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(address);
  return { page, complaints, requests };
}

/** A sweep of three kinds of memory in both directions, and another one, of half a year later and a bit slower. */
export function twoSweeps(): [ResultDocument, ResultDocument] {
  const now = buildDocument({ cells: defaultSweepCells() });
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
