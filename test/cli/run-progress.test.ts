import { expect, it } from "vitest";
import { describeRound, type ShowRunOptions, showRun } from "../../src/cli/live-run.js";
import { fileScreen } from "../../src/draw/screen.js";
import type { Run } from "../../src/measure/run.js";
import type { Plan } from "../../src/plan/plan.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";

it.each([
  [1, "round 1 of at least 6"],
  [6, "round 6 of at least 6"],
  [7, "round 7"],
])("round %d is told as %s: the number of further ones is not known", (round, text) => {
  expect(describeRound(round)).toBe(text);
});

it.each([
  ["h2d", "50.0 GB/s"],
  ["bidir", "90.0 GB/s"],
] as const)("the present rate of a cell of %s is that of all that it moves", async (direction, rate) => {
  const GBps = direction === "bidir" ? { h2d: 50, d2h: 40, sum: 90 } : 50;
  const cell = buildCell({ direction, GBps });
  const progress = { cell, stats: cell.stats, outcome: "measuring", taken: 0 };
  const run = {
    cells: [progress],
    async *measure() {
      yield { kind: "visit", round: 0, progress };
    },
    document: () => buildDocument({ cells: [cell] }),
  } as unknown as Run;
  const lines: string[] = [];
  const line = {
    isShown: true,
    update: (text: (columns: number) => string) => lines.push(text(1000)),
    clear: () => undefined,
  } as unknown as ShowRunOptions["line"];
  const plan = {
    ...{ stopping: {}, settings: {}, cells: [cell], speedFacts: { emulated: false } },
    estimate: { setUpNs: 0, startNs: 0, durationNs: 0, measuringNs: 0, devicesAtOnce: 1 },
  } as unknown;
  const { signal } = new AbortController();
  await showRun(run, plan as Plan, { outputs: [], screen: fileScreen(), line, quiet: false, signal });
  expect(lines.at(-1)).toContain(`x1, ${rate}; best`);
});
