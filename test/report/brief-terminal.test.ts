import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { comparisonKind } from "../../src/compare/report/comparison-report.js";
import { drawDocument } from "../../src/draw/document-kind.js";
import { fileScreen, type Screen } from "../../src/draw/screen.js";
import { fleetKind } from "../../src/fleet/report/fleet-report.js";
import { pinningKind } from "../../src/pin/pinning-report.js";
import { resultKind } from "../../src/report/result-report.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { drawn, reportOf } from "../helpers/drawn.js";
import { buildFleet, buildMixedFleet } from "../helpers/fleet.js";
import { buildPinning } from "../helpers/pinning.js";
import { buildCell, buildDocument, buildFailed, buildSkipped } from "../helpers/result-document.js";
import { compareRuns } from "../helpers/runs.js";
import { seeded } from "../helpers/seeded.js";

const recorded = (name: string) =>
  parseResult(readFileSync(new URL(`../../results/nvidia-h200/${name}.json`, import.meta.url), "utf8"));

/** What a terminal of 80 columns shows of a recorded run of a GPU, or of another one. */
function linesOf(run: string | ResultDocument, showsAll = false): string[] {
  const document = typeof run === "string" ? recorded(run) : run;
  const screen = fileScreen({ columns: 80, showsAll });
  return drawDocument(resultKind, document, "table", { screen }).trimEnd().split("\n");
}

const sweep = recorded("default");

describe("a run in a terminal without --all", () => {
  it.each([
    ["quick", 20],
    ["default", 40],
    ["every-copy", 40],
    ["blocks", 60],
    ["at-once-beside", 60],
    ["at-once-together", 60],
  ])("takes no more lines for %s than %i, and has a table", (name, most) => {
    const lines = linesOf(name);
    expect(lines.length).toBeLessThanOrEqual(most);
    expect(lines.some((line) => line.includes("───"))).toBe(true);
  });

  /** A machine under load: rates at random, intervals too wide to be of use, slow copies, and others on its CPUs. */
  it.each(["quick", "default"])("takes no more lines for %s if nothing in it is steady", (name) => {
    const { uniform: next } = seeded(28);
    for (let trial = 0; trial < 60; ++trial) {
      const document = recorded(name);
      const none = { cpuPressureShare: null, memoryPressureShare: null, ioPressureShare: null };
      document.run.load = { stealShare: 0.1, otherCpuShare: 0.92, ...none };
      for (const { stats } of document.cells) {
        for (const one of stats) {
          const width = [0.005, 0.03, 0.3, 0.9, 1.5][Math.floor(5 * next())]!;
          const median = one.bandwidthGBps.median * (0.2 + next());
          const [low, high] = [median * Math.max(0.01, 1 - width), median * (1 + width)];
          Object.assign(one.bandwidthGBps, { median, low, high, min: low, max: high });
          one.relativeHalfWidth = width;
        }
      }
      const lines = linesOf(document);
      expect(lines.length, lines.join("\n")).toBeLessThanOrEqual(name === "quick" ? 20 : 40);
      expect(lines.find((line) => line.startsWith("=> "))).toMatch(/^=> \d+ MiB: pinned /);
    }
  });

  it("ends with its answer in seven lines at most, the rates first", () => {
    const lines = linesOf("default");
    const from = lines.findIndex((line) => line.startsWith("=> "));
    expect(lines.length - from).toBeLessThanOrEqual(7);
    expect(lines[from]).toBe("=> 64 MiB: pinned 55.0 GB/s to the device, 54.9 back; pageable 7.53 and 13.0.");
  });
});

it.each<[string, (screen: Screen) => string]>([
  [
    "compare",
    (screen) =>
      drawn(
        comparisonKind,
        { ...compareRuns([sweep], [sweep]), command: "compare" as const },
        "table",
        screen,
      ),
  ],
  [
    "check",
    (screen) =>
      drawn(comparisonKind, { ...compareRuns([sweep], [sweep]), command: "check" as const }, "table", screen),
  ],
  ["fleet", (screen) => drawn(fleetKind, buildFleet(), "table", screen)],
  ["pin", (screen) => drawn(pinningKind, buildPinning(), "table", screen)],
])("%s takes 40 lines at most if nothing is wrong", (_, textOf) => {
  const text = textOf(fileScreen({ columns: 80, showsAll: false }));
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
});

it("a terminal of 80 columns has the reason beside the nodes without figures", () => {
  const text = drawn(fleetKind, buildMixedFleet(), "table", fileScreen({ columns: 80 }));
  expect(text).toMatch(/missing +2 +n\[098-099\] +The launcher/);
});

it("without room, what explains a sign yields before what was skipped, and a failure never does", () => {
  const cells = [
    buildCell({ GBps: 50, relativeHalfWidth: null }),
    buildSkipped({ workers: 2 }, "no memory"),
    buildFailed({ workers: 4 }, "CODE", "lost"),
  ];
  const { blocks } = reportOf(resultKind, buildDocument({ cells }));
  const notes = blocks.flatMap((block) => (block.type === "note" ? [block] : []));
  const yieldsOf = (part: string) => notes.find(({ text }) => text.includes(part))?.yields;
  expect(["too few samples for an interval", "skipped: no memory", "failed: lost"].map(yieldsOf)).toEqual([
    ...[1, 3, undefined],
  ]);
});
