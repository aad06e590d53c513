import { describe, expect, it } from "vitest";
import { findSuspects } from "../../src/compare/compare-results.js";
import { buildRuns, compareRuns, comparisonRequest } from "../helpers/runs.js";

const baseline = buildRuns();
const slowCandidate = buildRuns({ speed: 0.9, seed: 2 });
const check = (fresh: ReturnType<typeof buildRuns>, candidate = slowCandidate) =>
  compareRuns(baseline, candidate, { command: "check", fresh });

describe("check calls a cell slower", () => {
  it("when fresh processes show it as well", () => {
    const comparison = check(buildRuns({ speed: 0.9, seed: 3 }));
    expect(comparison).toMatchObject({
      outcome: "regression",
      confirmation: { runs: 5, suspects: [baseline[0]!.cells[0]!.id] },
      cells: [{ verdict: "slower", candidate: { runs: 10 }, confirmation: { runs: 5 } }],
    });
    expect(comparison.cells[0]!.confirmation!.change).toBeCloseTo(-0.1, 2);
    expect(comparison.cells[0]!.confirmation!.pValue).toBeLessThan(0.05);
    expect(comparison.notes).toEqual([]);
  });

  it.each([
    ["nothing measured it again", [], "it looked slower, and fresh processes could not measure it again"],
    [
      "they show the baseline's speed",
      buildRuns({ seed: 3 }),
      "only 5 of 10 runs are slower than the baseline by more than half the threshold",
    ],
    [
      "the one that there was shows it",
      buildRuns({ count: 1, seed: 3 }),
      "it looked slower, and fresh processes did not confirm it",
    ],
  ])("not when %s", (_, fresh, reason) => {
    expect(check(fresh)).toMatchObject({ outcome: "pass", cells: [{ verdict: "inconclusive", reason }] });
  });

  it("while compare, which measures nothing, says so instead", () => {
    const comparison = compareRuns(baseline, slowCandidate);
    expect(comparison).toMatchObject({ outcome: "regression", confirmation: null });
    expect(comparison.notes).toEqual([
      "nothing was measured again: `pinbench check` confirms what is slower with fresh processes",
    ]);
  });
});

describe("a few outliers among the candidate's runs", () => {
  it("change nothing", () => {
    const comparison = compareRuns(baseline, buildRuns({ speed: [0.7, 1, 0.7, 1, 1], seed: 2 }));
    expect(comparison.cells[0]?.verdict).toBe("same");
  });

  it("make the cell unsteady, not slower, even where they are most of the runs", () => {
    const comparison = compareRuns(baseline, buildRuns({ speed: [0.7, 1, 0.7, 1, 0.7], seed: 2 }));
    expect(comparison).toMatchObject({
      outcome: "pass",
      cells: [{ verdict: "inconclusive", reason: expect.stringMatching(/^only 3 of 5 runs are slower/) }],
    });
  });
});

describe("the suspects, which are measured again", () => {
  const cells = [{ GBps: 50 }, { GBps: 50, workers: 2 }, { GBps: 12, memory: "pageable" }] as const;
  const before = buildRuns({ cells });
  const suspectsAt = (speeds: readonly number[]) => {
    const slowed = cells.map((cell, i) => ({ ...cell, GBps: cell.GBps * speeds[i]! }));
    return findSuspects(comparisonRequest(before, buildRuns({ cells: slowed, seed: 2 })));
  };
  const ids = before[0]!.cells.map(({ id }) => id);

  it("are the cells that lost more than half their threshold", () => {
    expect(suspectsAt([1, 1, 1])).toEqual([]);
    expect(suspectsAt([0.96, 1, 0.96])).toEqual([ids[0], ids[2]]);
    expect(suspectsAt([1.1, 0.985, 1])).toEqual([]);
  });

  it("have a cell of two directions once", () => {
    const bidir = [
      { direction: "bidir", mode: "latency", GBps: { h2d: 1, d2h: 1 }, latencyUs: { median: 8, p99: 9 } },
    ] as const;
    const [fast, slow] = [buildRuns({ cells: bidir }), buildRuns({ cells: bidir, speed: 0.8, seed: 2 })];
    expect(findSuspects(comparisonRequest(fast, slow))).toEqual([fast[0]!.cells[0]!.id]);
  });
});
