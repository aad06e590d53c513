import { afterEach, describe, expect, it, vi } from "vitest";
import { GrowingBaseline, howToGoOn, lackingRuns } from "../../src/cli/baseline-session.js";
import { runFigures } from "../../src/compare/result-set.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { noConfiguration } from "../../src/settings/configuration.js";
import { buildMismatch } from "../helpers/result-document.js";
import { buildRuns } from "../helpers/runs.js";

afterEach(() => {
  vi.useRealTimers();
});

/** What `pinbench baseline` reports of runs that began at these times, in the order of the folder. */
function reportAt(now: string, ...starts: readonly string[]) {
  vi.useFakeTimers({ now: new Date(now), toFake: ["Date"] });
  const runs = starts.flatMap((startedAt, i) =>
    buildRuns({ count: 1, seed: i + 1, document: { run: { id: `run-${i}`, startedAt } } }),
  );
  const baseline = new GrowingBaseline(
    "main",
    runs.map((document) => runFigures(document, null)),
  );
  return baseline.report({ cells: ["one", "two"] }, noConfiguration);
}

it("a baseline spans the time since its first run, wherever that is in its folder", () => {
  const [first, second, last] = [1, 2, 4].map((day) => `2026-11-0${day}T12:00:00.000Z`) as [
    string,
    string,
    string,
  ];
  const report = reportAt("2026-11-04T18:00:00.000Z", second, first, last);
  expect(report).toMatchObject({ path: "main", runs: 3, cells: 2, occasions: 3, notice: null, checkRuns: 5 });
  expect(report.spanNs).toBe((3 * 24 + 6) * 3600e9);
});

it("a baseline spans no time below zero if the clock has been set back", () => {
  expect(reportAt("2026-11-01T12:00:00.000Z", "2026-11-02T12:00:00.000Z").spanNs).toBe(0);
});

it("a baseline tells by the runs that it had before which of a few new ones are slow", () => {
  const earlier = buildRuns({ count: 6 }).map((document) => runFigures(document, null));
  const startedAt = (run: number) => ({
    run: { id: `new-${run}`, startedAt: `2026-11-2${run}T12:00:00.000Z` },
  });
  const session = [1, 0.5].flatMap((speed, run) =>
    buildRuns({ speed: [speed], seed: run + 2, document: startedAt(run + 1) }),
  );
  expect(new GrowingBaseline("main", earlier).slowRunsWith(session)).toBe(1);
  expect(new GrowingBaseline("main", earlier).slowRunsWith(session.slice(0, 1))).toBe(0);
});

const figuresOf = (runs: readonly ResultDocument[]) => runs.map((run) => runFigures(run, null));

it("on the emulated device no run counts as slow: the CPU makes its copies", () => {
  const document = { backend: "emulated" as const };
  const earlier = buildRuns({ count: 6, document });
  const session = buildRuns({ speed: [0.5], seed: 3, document });
  expect(new GrowingBaseline("main", figuresOf(earlier)).slowRunsWith(session)).toBe(0);
});

describe("a run joins a baseline only if", () => {
  const [earlier] = buildRuns({ count: 1 }) as [ResultDocument];
  const refusalOf = (part: Partial<ResultDocument>, before = [earlier]) => {
    try {
      new GrowingBaseline("main", figuresOf(before)).checkFits({ ...earlier, ...part });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  it("it was measured to its end, without wrong data", () => {
    const aborted = { run: { ...earlier.run, status: "aborted" as const } };
    expect(refusalOf({})).toBeNull();
    expect(refusalOf({}, [])).toBeNull();
    expect(refusalOf(aborted)).toBe("nothing was added to main: a measurement failed (the run is aborted).");
    expect(refusalOf(aborted, [])).toBe(
      "no baseline was written: a measurement failed (the run is aborted).",
    );
    const wrong = buildMismatch();
    expect(refusalOf({ cells: [...earlier.cells, wrong] })).toBe(
      `nothing was added to main: data came back wrong (${wrong.id}).`,
    );
  });
});

it.each([
  [2, 0, "`pinbench baseline main --append --runs 5 --sessions 3`"],
  [4, 0, "`pinbench baseline main --append --runs 5`"],
  [
    2,
    3,
    "`pinbench baseline main --append --runs 2`, then `pinbench baseline main --append --runs 5 --sessions 2`",
  ],
  [4, 3, "`pinbench baseline main --append --runs 2`"],
])(
  "a baseline interrupted in session %d of 4, after %d of 5 runs, goes on with %s",
  (session, measured, commands) => {
    const lacking = lackingRuns({ measured, runs: 5, session, sessions: 4 });
    expect(howToGoOn("main", ...lacking)).toBe(`Go on with ${commands}.`);
  },
);
