import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { describeRound, type ShowRunOptions, showProcesses, showRun } from "../../src/cli/live-run.js";
import { ProgressLine } from "../../src/cli/output/progress-line.js";
import { fileScreen } from "../../src/draw/screen.js";
import type { ProcessSeries } from "../../src/measure/process-series.js";
import type { Run } from "../../src/measure/run.js";
import type { Plan } from "../../src/plan/plan.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";

const written: string[] = [];
const stderr = { isTTY: process.stderr.isTTY, columns: process.stderr.columns };

/** Makes stderr a terminal of this many columns, or a file for null. */
function stderrIs(columns: number | null, term = "xterm"): void {
  Object.assign(process.stderr, { isTTY: columns !== null, columns: columns ?? undefined });
  vi.stubEnv("TERM", term);
}

beforeEach(() => {
  written.length = 0;
  vi.useFakeTimers();
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  Object.assign(process.stderr, stderr);
});

const shown = { quiet: false };

describe("the progress line", () => {
  it("is redrawn in place every second on a terminal, within its width", () => {
    stderrIs(21);
    const line = new ProgressLine(shown);
    let seconds = 0;
    line.update((columns) => `${seconds} s of ${columns} columns and more`.slice(0, columns));
    expect(written).toEqual(["\r\u001b[2K0 s of 20 columns an"]);
    for (seconds = 1; seconds <= 3; ++seconds) vi.advanceTimersByTime(1000);
    expect(written).toHaveLength(4);
    expect(written.at(-1)).toContain("3 s of 20");
    line.clear();
  });

  it("stands below the preliminary rates, and both are redrawn in place and removed", () => {
    stderrIs(21);
    const line = new ProgressLine(shown);
    const found = "preliminary: pinned 55.4 GB/s";
    line.update(() => "round 1");
    vi.advanceTimersByTime(100);
    line.update(() => "round 1", found);
    vi.advanceTimersByTime(100);
    line.update(() => "round 2", found);
    vi.advanceTimersByTime(100);
    line.update(() => "closing");
    line.clear();
    const both = "\r\u001b[2K\u001b[1A\u001b[2K";
    expect(written).toEqual([
      "\r\u001b[2Kround 1",
      "\r\u001b[2Kpreliminary: pinned \nround 1",
      `${both}preliminary: pinned \nround 2`,
      `${both}closing`,
      "\r\u001b[2K",
    ]);
  });

  it("fits the width after signs such as µ are spelled in ASCII", () => {
    stderrIs(6);
    vi.stubEnv("LC_ALL", "C");
    const line = new ProgressLine(shown);
    line.update(() => "3 µs ±");
    line.clear();
    expect(written[0]).toBe("\r\u001b[2K3 us ");
  });

  it("is not drawn more often than ten times a second", () => {
    stderrIs(80);
    const line = new ProgressLine(shown);
    for (let i = 0; i < 50; ++i) {
      line.update(() => `${i}`);
      vi.advanceTimersByTime(10);
    }
    expect(written).toHaveLength(5);
    line.clear();
  });

  it("disappears when it is cleared, and does not come back", () => {
    stderrIs(80);
    const line = new ProgressLine(shown);
    line.update(() => "x");
    line.clear();
    expect(written.at(-1)).toBe("\r\u001b[2K");
    const { length } = written;
    vi.advanceTimersByTime(60_000);
    line.clear();
    expect(written).toHaveLength(length);
  });

  it.each([
    ["a file", null, "xterm"],
    ["a dumb terminal", 80, "dumb"],
  ])("is printed as a whole line every 30 s in %s", (_, columns, term) => {
    stderrIs(columns, term);
    const line = new ProgressLine(shown);
    let seconds = 0;
    line.update(() => `${seconds} s have passed`, "found so far");
    for (seconds = 1; seconds <= 65; ++seconds) vi.advanceTimersByTime(1000);
    line.clear();
    expect(written).toEqual(["pinbench: 30 s have passed\n", "pinbench: 60 s have passed\n"]);
  });

  it("is not shown with --quiet", () => {
    for (const columns of [80, null]) {
      stderrIs(columns);
      const line = new ProgressLine({ quiet: true });
      expect(line.isShown).toBe(false);
      line.update(() => "x");
      vi.advanceTimersByTime(120_000);
      line.clear();
    }
    expect(written).toEqual([]);
  });
});

it.each([
  [1, "round 1 of at least 6"],
  [6, "round 6 of at least 6"],
  [7, "round 7"],
])("the progress of a run shows round %d as %s", (round, text) => {
  expect(describeRound(round)).toBe(text);
});

/** A wide progress line, and what it has shown. */
function shownLines() {
  const lines: string[] = [];
  const line = {
    isShown: true,
    update: (text: (columns: number) => string) => lines.push(text(1000)),
    clear: () => undefined,
  } as unknown as ShowRunOptions["line"];
  const { signal } = new AbortController();
  return { lines, options: { outputs: [], screen: fileScreen(), line, quiet: false, signal } };
}

/** What the progress line of a run shows last, with these cells so far and after this event. */
async function lastLine(
  cells: readonly { cell: CellResult; outcome: string; taken: number }[],
  event: object,
  stopping: { samplesPerCell: number | null; budgetNs?: number } = { samplesPerCell: null },
): Promise<string> {
  const all = cells.map((one) => ({ ...one, stats: one.cell.stats }));
  const run = {
    cells: all,
    async *measure() {
      yield { progress: all[0], ...event };
    },
    document: () => buildDocument({ cells: cells.map(({ cell }) => cell) }),
  } as unknown as Run;
  const plan = {
    ...{ stopping: { budgetNs: 8e9, ...stopping }, settings: {} },
    cells: cells.map(({ cell }) => cell),
  } as unknown;
  const { lines, options } = shownLines();
  await showRun(run, plan as Plan, options);
  return lines.at(-1)!;
}

const visit = { kind: "visit", round: 0 };

it.each([
  ["h2d", "50.0 GB/s"],
  ["bidir", "90.0 GB/s"],
] as const)("the progress line's %s rate counts the bytes of all directions", async (direction, rate) => {
  const GBps = direction === "bidir" ? { h2d: 50, d2h: 40, sum: 90 } : 50;
  const cell = buildCell({ direction, GBps });
  expect(await lastLine([{ cell, outcome: "measuring", taken: 0 }], visit)).toContain(`, ${rate}; best`);
});

const three = (["converged", "measuring", "skipped"] as const).map((outcome, i) => ({
  ...{ cell: buildCell({ workers: i + 1, GBps: 50 }), outcome, taken: 3 },
}));

it("the progress line leaves skipped cells out of its numbers of cells and samples", async () => {
  expect(await lastLine(three, visit)).toContain("1 of 2 cells converged, round 1 of at least 6");
  expect(await lastLine(three, visit, { samplesPerCell: 9 })).toContain("6 of 18 samples taken");
});

it("the progress line shows what a run does between its copies", async () => {
  const line = await lastLine(three, { kind: "activity", activity: "opening device 0" });
  expect(line).toContain("1 of 2 cells converged; opening device 0; best");
});

it("the progress line shows a run's time against its budget, unless --samples ends the run", async () => {
  const ofBudget = await lastLine(three, visit, { samplesPerCell: null, budgetNs: 7e9 });
  expect(ofBudget).toMatch(/^\[-{10}\] 0 s of 7 s; /);
  expect(await lastLine(three, visit, { samplesPerCell: 9, budgetNs: 7e9 })).toMatch(/^0 s; /);
});

it("the progress line of run --runs shows the budget of all runs and the best rates so far", async () => {
  const cells = [buildCell({ GBps: 50 }), buildCell({ workers: 2, GBps: 40 })];
  const series = {
    done: 0,
    async *measure() {
      for (; this.done < 3; ++this.done) yield;
      yield;
    },
    document: () => buildDocument({ cells }),
  };
  const { lines, options } = shownLines();
  const plan = { stopping: { samplesPerCell: null, budgetNs: 7e9 }, cells } as unknown as Plan;
  await showProcesses(series as unknown as ProcessSeries, { plan, runs: 3 }, options);
  const time = "[----------] 0 s of 21 s";
  const best = lines[1]!.split("; ").at(-1)!;
  expect(best).toMatch(/^best 50\.0 GB\/s, /);
  expect(lines).toEqual([
    `${time}; run 1 of 3, 2 cells`,
    ...[2, 3, 3].map((run) => `${time}; run ${run} of 3, 2 cells; ${best}`),
  ]);
});
