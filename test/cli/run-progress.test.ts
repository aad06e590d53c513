import { expect, it } from "vitest";
import { describeRound, type ShowRunOptions, showRun } from "../../src/cli/live-run.js";
import { fileScreen } from "../../src/draw/screen.js";
import type { Run } from "../../src/measure/run.js";
import type { Plan } from "../../src/plan/plan.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";

it.each([
  [1, "round 1 of at least 6"],
  [6, "round 6 of at least 6"],
  [7, "round 7"],
])("round %d is told as %s: the number of further ones is not known", (round, text) => {
  expect(describeRound(round)).toBe(text);
});

/** What the progress line of a run shows last, with these cells so far and after this event. */
async function lastLine(
  cells: readonly { cell: CellResult; outcome: string; taken: number }[],
  event: object,
  samplesPerCell: number | null = null,
): Promise<string> {
  const all = cells.map((one) => ({ ...one, stats: one.cell.stats }));
  const run = {
    cells: all,
    async *measure() {
      yield { progress: all[0], ...event };
    },
    document: () => buildDocument({ cells: cells.map(({ cell }) => cell) }),
  } as unknown as Run;
  const lines: string[] = [];
  const line = {
    isShown: true,
    update: (text: (columns: number) => string) => lines.push(text(1000)),
    clear: () => undefined,
  } as unknown as ShowRunOptions["line"];
  const plan = {
    ...{ stopping: { samplesPerCell }, settings: {}, speedFacts: { emulated: false } },
    cells: cells.map(({ cell }) => cell),
    estimate: { setUpNs: 0, startNs: 0, durationNs: 0, measuringNs: 0, devicesAtOnce: 1 },
  } as unknown;
  const { signal } = new AbortController();
  await showRun(run, plan as Plan, { outputs: [], screen: fileScreen(), line, quiet: false, signal });
  return lines.at(-1)!;
}

const visit = { kind: "visit", round: 0 };

it.each([
  ["h2d", "50.0 GB/s"],
  ["bidir", "90.0 GB/s"],
] as const)("the present rate of a cell of %s is that of all that it moves", async (direction, rate) => {
  const GBps = direction === "bidir" ? { h2d: 50, d2h: 40, sum: 90 } : 50;
  const cell = buildCell({ direction, GBps });
  expect(await lastLine([{ cell, outcome: "measuring", taken: 0 }], visit)).toContain(`x1, ${rate}; best`);
});

const three = (["converged", "measuring", "skipped"] as const).map((outcome, i) => ({
  ...{ cell: buildCell({ workers: i + 1, GBps: 50 }), outcome, taken: 3 },
}));

it("a skipped cell has no part in how many have converged, or in how many samples were taken", async () => {
  expect(await lastLine(three, visit)).toContain("1 of 2 cells converged, round 1 of at least 6");
  expect(await lastLine(three, visit, 9)).toContain("6 of 18 samples taken");
});

it("what a run does between its copies is said in their place", async () => {
  const line = await lastLine(three, { kind: "activity", activity: "opening device 0" });
  expect(line).toContain("1 of 2 cells converged; opening device 0; best");
});
