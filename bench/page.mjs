// `node bench page`: size of pages and time to open them in a browser, against their limits. One page is of a recorded
// default sweep, one of 1,000 cells with 100 samples each. `--screenshots FOLDER` takes pictures of all kinds of pages
// instead: wide and narrow, light and dark.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { pageOfDocuments } from "../dist/kinds/draw-documents.js";
import { parseResult } from "../dist/results/parse.js";
import { seededRandom } from "./lib/random.mjs";
import { printTable, verdict } from "./lib/table.mjs";

const { screenshots } = parseArgs({ options: { screenshots: { type: "string" } } }).values;

const recorded = "results/nvidia-h200/default.json";
const rounds = 7;
/** Limits in kB for a page without its samples, and for a page of 1,000 cells; and in ms for opening. */
const [mostKB, mostLargeKB, mostOpenMs] = [300, 1500, 500];

const kB = (text) => Buffer.byteLength(text) / 1000;
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** `cells` cells with random sample durations, up to 20 % above the shortest measured one. */
function largeDocument(document, cells, samples) {
  const random = seededRandom(1);
  const measured = document.cells.filter((cell) => cell.samples.length > 0);
  const many = Array.from({ length: cells }, (_, index) => {
    const cell = measured[index % measured.length];
    const sizeBytes = cell.sizeBytes + 4096 * Math.floor(index / measured.length);
    const [one] = cell.samples;
    const shortest = Math.min(...one.durationNs);
    return {
      ...cell,
      sizeBytes,
      id: cell.id.replace(`/${cell.sizeBytes}/`, `/${sizeBytes}/`),
      samples: [
        {
          ...one,
          startNs: Array.from({ length: samples }, (_, i) => Math.round(1e9 * (i + random()) + 1e5 * index)),
          durationNs: Array.from({ length: samples }, () => Math.round(shortest * (1 + random() / 5))),
          round: Array.from({ length: samples }, (_, i) => i),
        },
      ],
    };
  });
  return { ...document, cells: many };
}

/** Sizes in kB: the whole page, and each of its parts. */
function partsOf(html) {
  const contents = (pattern) =>
    [...html.matchAll(pattern)].reduce((sum, [, content]) => sum + kB(content), 0);
  return {
    all: kB(html),
    style: contents(/<style>(.*?)<\/style>/gs),
    script: contents(/<script type="module">(.*?)<\/script>/gs),
    samples: contents(/<script type="application\/json"[^>]*>(.*?)<\/script>/gs),
    charts: contents(/(<svg class="chart".*?<\/svg>)/gs),
    tables: contents(/(<table>.*?<\/table>)/gs),
  };
}

/** Milliseconds from the start of loading a file until it is drawn; a new window each time. */
async function opening(browser, file) {
  const times = [];
  for (let round = 0; round < rounds; ++round) {
    const window = await browser.newPage();
    await window.goto(pathToFileURL(file).href);
    times.push(
      await window.evaluate(
        () =>
          new Promise((resolve) => {
            // The second frame begins only after the first is drawn.
            requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
          }),
      ),
    );
    await window.close();
  }
  return median(times);
}

async function weighPages(browser) {
  const document = parseResult(readFileSync(recorded, "utf8"), recorded);
  const rows = [];
  let isWithin = true;
  for (const [name, result, bound] of [
    ["default sweep", document, mostKB],
    ["1,000 cells x 100 samples", largeDocument(document, 1000, 100), mostLargeKB],
  ]) {
    const start = performance.now();
    const html = await pageOfDocuments([{ kind: "result", document: result, path: null }]);
    const drawnMs = performance.now() - start;
    const file = join(folder, "report.html");
    writeFileSync(file, html);
    const { all, style, script, samples, charts, tables } = partsOf(html);
    const openMs = await opening(browser, file);
    // The limit of a default sweep excludes the samples; that of 1,000 cells includes them.
    const counted = bound === mostKB ? all - samples : all;
    const isReached = counted <= bound && openMs <= mostOpenMs;
    isWithin &&= isReached;
    const sizes = [all, style, script, charts, tables, samples].map((size) => size.toFixed(1));
    rows.push([
      name,
      ...sizes,
      `${counted.toFixed(0)} / ${bound}`,
      drawnMs.toFixed(0),
      `${openMs.toFixed(0)} / ${mostOpenMs}`,
      verdict(isReached),
    ]);
  }
  const head = ["", "all", "style", "script", "charts", "tables", "samples", "bound", "made", "opened", ""];
  printTable("pages: kB of their parts, and ms to make and to open them", head, rows);
  process.exitCode = isWithin ? 0 : 1;
}

/** Uses the browser test that draws every kind of page in every look. */
function takePictures(into) {
  mkdirSync(into, { recursive: true });
  const env = { ...process.env, PINBENCH_SCREENSHOTS: resolve(into) };
  const args = ["vitest", "run", "test/browser/every-page.test.ts"];
  process.exitCode = spawnSync("npx", args, { env, stdio: "inherit" }).status ?? 1;
}

async function weigh() {
  const browser = await chromium.launch({
    executablePath: process.env.PINBENCH_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  try {
    await weighPages(browser);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const folder = mkdtempSync(join(tmpdir(), "pinbench-page-"));
if (screenshots === undefined) await weigh();
else takePictures(screenshots);
