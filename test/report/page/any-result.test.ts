import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Chart } from "../../../src/draw/chart/chart.js";
import { chartFile } from "../../../src/draw/chart/draw-chart.js";
import { chapterSection } from "../../../src/draw/page/chapter-section.js";
import { withSharedAxes } from "../../../src/draw/page/page.js";
import { parseResult } from "../../../src/results/parse.js";
import type { ResultDocument } from "../../../src/results/schema.js";
import { besides, memories } from "../../../src/settings/choices.js";
import { oddText } from "../../helpers/comparison.js";
import { resultChapter } from "../../helpers/drawn.js";
import { acceptedBy, runs } from "../../helpers/hostile.js";
import { mutated, mutation } from "../../helpers/mutations.js";
import { cornersOf, faultsOfXml, marksIn, number, ofClass } from "../../helpers/picture.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  type CellPart,
  MiB,
} from "../../helpers/result-document.js";
import { trials } from "../../helpers/trials.js";

/** Charts and sections of a page of these results. */
function pageOf(...documents: readonly ResultDocument[]): { charts: Chart[]; files: string[]; html: string } {
  const chapters = withSharedAxes(documents.map(resultChapter));
  const charts = chapters.flatMap((chapter) => chapter.charts);
  const sections = chapters.map(
    (chapter, index) => chapterSection(chapter, { id: `document-${index + 1}` }).text,
  );
  return { charts, files: charts.map(chartFile), html: sections.join("\n") };
}

/** Texts that no page may contain. */
const noFigure = /\b(NaN|undefined|Infinity|null null)\b/;

function expectNoFault({ charts, files, html }: ReturnType<typeof pageOf>): void {
  for (const file of files) expect(file).not.toMatch(noFigure);
  expect(html.replaceAll(/"process":null/g, "")).not.toMatch(noFigure);
  for (const file of files) expect(placesOutside(file)).toEqual([]);
  for (const { title, description } of charts) expect([title, description]).not.toContain("");
}

/** Positions of marks, intervals, bars and columns that lie outside of the picture. */
function placesOutside(svg: string): unknown[] {
  const [, , width, height] = svg
    .match(/viewBox="([^"]*)"/)![1]!
    .split(" ")
    .map(Number);
  const places = [
    ...marksIn(svg),
    ...ofClass(svg, "band").flatMap(cornersOf),
    ...["whisker", "error", "rule", "grid"].flatMap((name) =>
      ofClass(svg, name).flatMap((line) =>
        line.attributes.x1 === undefined
          ? []
          : [
              { x: number(line, "x1"), y: number(line, "y1") },
              { x: number(line, "x2"), y: number(line, "y2") },
            ],
      ),
    ),
    ...ofClass(svg, "bar").flatMap((box) => {
      const [x, y] = [number(box, "x"), number(box, "y")];
      return [
        { x, y },
        { x: x + number(box, "width"), y: y + number(box, "height") },
      ];
    }),
  ];
  return places.filter(({ x, y }) => !(x >= 0 && x <= width! && y >= 0 && y <= height!));
}

const folder = new URL("../../../results/nvidia-h200/", import.meta.url);
const recorded = ["default.json", "quick.json", "at-once-together.json", "at-once-beside.json"];

describe("every recorded result", () => {
  it.each(recorded)("%s has charts, each well formed and with a name of its own", async (file) => {
    const document = parseResult(readFileSync(new URL(file, folder), "utf8"), file);
    const page = pageOf(document);
    expectNoFault(page);
    expect(page.charts.length).toBeGreaterThan(0);
    expect(new Set(page.charts.map(({ name }) => name)).size).toBe(page.charts.length);
    expect(await faultsOfXml(page.files)).toEqual([]);
  });

  it("can be drawn with the others on one page", () => {
    const documents = recorded.map((file) => parseResult(readFileSync(new URL(file, folder), "utf8"), file));
    expectNoFault(pageOf(...documents));
  });
});

describe("a result without figures", () => {
  it.each<[string, Parameters<typeof buildDocument>[0]]>([
    ["no cell", { cells: [] }],
    ["no device", { cells: [], devices: [], run: { status: "failed" } }],
    ["a device that its cells do not name", { cells: [buildCell({ device: 3, GBps: 55 })] }],
    [
      "nothing measured yet",
      { cells: [buildCell({ result: { outcome: null } })], run: { status: "aborted" } },
    ],
    ["failures alone", { cells: [buildFailed({}, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")] }],
    ["cells that were skipped", { cells: [buildSkipped({}, "no room")] }],
    ["wrong data", { cells: [buildMismatch({ GBps: 55 })] }],
    ["no costs of pinning", { cells: [], coldStart: [buildColdStart({ pinning: [] })] }],
  ])("has a well-formed page: %s", async (_, part) => {
    const page = pageOf(buildDocument(part));
    expectNoFault(page);
    expect(page.html).toContain("<section");
    expect(await faultsOfXml(page.files)).toEqual([]);
  });
});

it("a page escapes markup in names of cells and devices", async () => {
  const cells = [buildCell({ GBps: 50 }), buildCell({ sizeBytes: MiB, GBps: 40 })].map((cell) => ({
    ...cell,
    id: `${cell.id}<script>${oddText}`,
    warnings: [oddText],
  }));
  const document = buildDocument({
    cells,
    devices: [buildDevice({ name: oddText })],
    run: { argv: [oddText] },
  });
  const page = pageOf(document);
  expect(page.html).not.toContain("<c>");
  expect(page.html).not.toContain("<script>");
  expect(page.files.join("")).not.toContain("<script>");
  expect(await faultsOfXml(page.files)).toEqual([]);
});

/** Extreme but valid rates and times. */
const figureBetween = (min: number, max: number) =>
  fc.oneof(fc.double({ min, max, noNaN: true }), fc.constantFrom(min, 1, 55.4, max));
const rate = figureBetween(1e-6, 900);
const microseconds = figureBetween(0.1, 1e11);
const sizes = fc.oneof(fc.nat({ max: 2 ** 40 }), fc.constantFrom(0, 1, 4096, MiB, 2 ** 46));
const small = fc.integer({ min: 0, max: 3 });

const measured: fc.Arbitrary<CellPart> = fc.record({
  device: small,
  sizeBytes: sizes,
  workers: fc.integer({ min: 0, max: 5 }),
  memory: fc.constantFrom(...memories.filter((memory) => memory !== "device")),
  cache: fc.constantFrom("cold", "warm"),
  relativeHalfWidth: fc.constantFrom(null, 0, 0.01, 0.9),
});
const rates = rate.map((one): CellPart => ({ GBps: one }));
const direction = fc.constantFrom("h2d", "d2h").map((one): CellPart => ({ direction: one }));
const latency = fc.tuple(rate, microseconds, microseconds).map(
  ([GBps, a, b]): CellPart => ({
    mode: "latency",
    GBps,
    latencyUs: { median: Math.min(a, b), p99: Math.max(a, b) },
  }),
);
const variant: fc.Arbitrary<CellPart> = fc.oneof(
  fc.constant<CellPart>({}),
  fc.constant<CellPart>({ workerKind: "process" }),
  fc.constantFrom(...besides).map((beside): CellPart => (beside === "none" ? {} : { beside })),
  fc.integer({ min: 1, max: 3 }).map((chunks): CellPart => ({ chunks })),
  fc.constant<CellPart>({ together: [0, 1, 2, 3] }),
);
const peers: fc.Arbitrary<CellPart> = fc
  .record({ device: small, peer: small, path: fc.constantFrom("write", "read", "kernel-write") })
  .map((one): CellPart => ({ ...one, direction: "p2p", memory: "device" }));
const both = fc
  .tuple(rate, rate)
  .map(([h2d, d2h]): CellPart => ({ direction: "bidir", GBps: { h2d, d2h, sum: h2d + d2h } }));

const anyCell = fc
  .tuple(measured, direction, fc.oneof(rates, latency), fc.oneof(variant, peers, both))
  .map((parts) => buildCell(Object.assign({}, ...parts)))
  .chain((cell) =>
    fc.constantFrom("converged", "budget", "failed", null).map((outcome) => ({
      ...cell,
      outcome,
      // Copies of 0 bytes take time too.
      samples: cell.samples.map((one) => ({
        ...one,
        durationNs: one.durationNs.map((ns) => Math.max(ns, 1)),
      })),
    })),
  );

const anyDocument = fc
  .record({
    cells: fc.uniqueArray(anyCell, { selector: ({ id }) => id, maxLength: 30 }),
    costs: fc.array(fc.record({ sizeBytes: sizes, ns: fc.constantFrom(0, 1, 1e6, 1e18) }), { maxLength: 4 }),
    limit: fc.constantFrom(null, 1e-9, 63, 1e12),
  })
  .map(({ cells, costs, limit }) => {
    const [record] = buildColdStart().pinning;
    const pinning = costs.map(({ sizeBytes, ns }) => ({
      ...record!,
      sizeBytes,
      pageable: { allocateNs: ns, freeNs: 0, hugePageBytes: null },
    }));
    const devices = [0, 1, 2, 3].map((ordinal) => buildDevice({ ordinal, linkLimitGBps: limit }));
    return buildDocument({ cells, devices, coldStart: [buildColdStart({ pinning })] });
  });

describe("any valid result", () => {
  it("has well-formed charts without NaN, and with all marks inside", async () => {
    const pictures: string[] = [];
    fc.assert(
      fc.property(anyDocument, anyDocument, (one, other) => {
        const documents = [one, other].map((document) => parseResult(JSON.stringify(document), "a.json"));
        const page = pageOf(...documents);
        expectNoFault(page);
        pictures.push(...page.files);
      }),
      runs(trials(15, 40)),
    );
    expect(pictures.length).toBeGreaterThan(20);
    // Once for all of them: starting the parser takes longer than parsing.
    expect(await faultsOfXml([`<svg>${pictures.join("")}</svg>`])).toEqual([]);
  });

  it("has charts without NaN, even if it is a recorded one with random changes", () => {
    const base = JSON.parse(readFileSync(new URL("quick.json", folder), "utf8")) as unknown;
    let accepted = 0;
    fc.assert(
      fc.property(mutation, (change) => {
        const read = acceptedBy(() => parseResult(mutated(base, change), "a.json"));
        if (read === null) return;
        accepted += 1;
        const { files } = pageOf(read.value);
        for (const file of files) expect(file).not.toMatch(/="[^"]*(NaN|undefined|Infinity)/);
      }),
      runs(trials(60, 150)),
    );
    expect(accepted).toBeGreaterThan(10);
  });
});
