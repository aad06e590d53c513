import { describe, expect, it } from "vitest";
import { findSuspects } from "../../src/compare/compare-results.js";
import { runFigures, runsOf } from "../../src/compare/result-set.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { ResultDocument } from "../../src/results/schema.js";
import type { CellPart } from "../helpers/result-document.js";
import { buildRuns, type ComparedPart, compareRuns, comparisonRequest } from "../helpers/runs.js";

/** A run with wrong copies: a number of its samples take several times their time. */
interface Slow {
  samples: number;
  times: number;
}

const samplesOfRun = 6;

/** The cell with six samples of its median rate, of which some are slow copies: its median stays as it is. */
function withSlow(cell: CellResult, { samples: slow, times }: Slow): CellResult {
  const samples = cell.samples.map((one) => {
    const usualNs = one.bytesPerSample / cell.stats[0]!.bandwidthGBps.median;
    const durationNs = Array.from({ length: samplesOfRun }, (_, i) => usualNs * (i < slow ? times : 1));
    return { ...one, durationNs, startNs: durationNs.map((_, i) => i * 1e9), round: durationNs.map(() => 0) };
  });
  return { ...cell, samples };
}

/** Runs of which each has the slow samples that `slow` lists for it; the others have none. */
function runs(slow: readonly Slow[], { count = 5, cell = {} }: { count?: number; cell?: CellPart } = {}) {
  const none = { samples: 0, times: 1 };
  return buildRuns({ cells: [{ GBps: 50, ...cell }], count, seed: slow.length + 1 }).map((document, i) => ({
    ...document,
    cells: document.cells.map((one) => withSlow(one, slow[i] ?? none)),
  }));
}

const healthy = (count = 10, cell: CellPart = {}) => runs([], { count, cell });
const few: Slow = { samples: 1, times: 8 };
const none: Slow = { samples: 0, times: 1 };

const verdictOf = (
  baseline: readonly ResultDocument[],
  candidate: readonly ResultDocument[],
  part?: ComparedPart,
) => compareRuns(baseline, candidate, part).cells[0]!;

describe("slow copies that medians do not see", () => {
  it("are uneven, with the share of the time that they took, and fail pinned memory", () => {
    const comparison = compareRuns(healthy(), runs([few, none, few, few, few]));
    expect(comparison).toMatchObject({ outcome: "regression", counts: { uneven: 1 } });
    // In four of five runs 1 of 6 samples takes 8 times as long: 7 of 13 of the time.
    expect(comparison.cells[0]).toMatchObject({
      verdict: "uneven",
      reason: "slow copies took 43 % of the time, 0 % before",
      lostShare: { baseline: expect.closeTo(0, 6), candidate: expect.closeTo((0.8 * 7) / 13, 2) },
    });
    expect(comparison.notes.join()).toContain("pinbench check");
  });

  it("fail pageable memory under --strict alone", () => {
    const cell = { memory: "pageable" } as const;
    const slow = runs([few, few, few, few, few], { cell });
    expect(compareRuns(healthy(10, cell), slow)).toMatchObject({ outcome: "pass", counts: { uneven: 1 } });
    expect(compareRuns(healthy(10, cell), slow, { rule: { strict: true } }).outcome).toBe("regression");
  });

  it("are found in latencies if one in a hundred copies takes twenty times as long", () => {
    const cell = { mode: "latency", latencyUs: { median: 8, p99: 12 } } as const;
    const tail = runs([], { cell }).map((document) => ({
      ...document,
      cells: document.cells.map((one) => ({
        ...one,
        samples: one.samples.map((samples) => {
          const usualNs = samples.bytesPerSample / one.stats[0]!.bandwidthGBps.median;
          const durationNs = Array.from({ length: 300 }, (_, i) => usualNs * (i % 100 === 50 ? 20 : 1));
          return { ...samples, durationNs, startNs: durationNs, round: durationNs.map(() => 0) };
        }),
      })),
    }));
    expect(verdictOf(healthy(10, cell), tail)).toMatchObject({
      verdict: "uneven",
      reason: "slow copies took 16 % of the time, 0 % before",
    });
  });

  it("are undecided if only one run has them", () => {
    expect(verdictOf(healthy(), runs([few]))).toMatchObject({
      verdict: "inconclusive",
      reason: "slow copies took 11 % of the time, 0 % before, in 1 of 5 runs",
    });
    expect(verdictOf(healthy(1), runs([few], { count: 1 })).verdict).toBe("inconclusive");
  });

  it("are not reported if the baseline's runs have as many", () => {
    expect(verdictOf(runs([few, few, few, few, few]), runs([few, few, few, few, few])).verdict).toBe(
      "not slower",
    );
  });

  it("do not count below 5 % of the time", () => {
    const little = { samples: 1, times: 1.25 };
    expect(verdictOf(healthy(), runs([little, little, little, little, little])).verdict).toBe("not slower");
  });

  it("do not change the verdict of a cell whose median is slower", () => {
    const slow = buildRuns({ cells: [{ GBps: 50 }], count: 5, speed: 0.7, seed: 9 }).map((document) => ({
      ...document,
      cells: document.cells.map((cell) => withSlow(cell, few)),
    }));
    expect(verdictOf(healthy(), slow).verdict).toBe("slower");
  });
});

describe("a check", () => {
  const first = runs([few, none, few, few, none]);

  it("measures uneven cells again, often enough to find them again", () => {
    const suspects = findSuspects(comparisonRequest(healthy(), first, { command: "check" }));
    // Of 3 of 5 runs: (2/5)^6 is below 0.5 %.
    expect(suspects).toEqual({ ids: [first[0]!.cells[0]!.id], runs: 6 });
    expect(findSuspects(comparisonRequest(healthy(), runs([]), { command: "check" })).ids).toEqual([]);
  });

  it("calls a cell uneven that fresh processes find uneven too, and no other", () => {
    const check = (fresh: ResultDocument[]) =>
      verdictOf(healthy(), first, { command: "check", fresh }).verdict;
    expect(check(runs([none, few, none, few, few]))).toBe("uneven");
    expect(check(runs([]))).toBe("inconclusive");
    expect(check([])).toBe("inconclusive");
    // The mean of all of the candidate's runs: 3 of 10.
    const { lostShare } = verdictOf(healthy(), first, { command: "check", fresh: runs([]) });
    expect(lostShare!.candidate).toBeCloseTo((0.3 * 7) / 13, 6);
  });
});

describe("figures of a run", () => {
  it("have the share of slow copies, computed from samples in older results", () => {
    const [document] = runs([few], { count: 1 }) as [ResultDocument];
    const share = (one: ResultDocument) => runFigures(one, null).cells[0]!.figures[0]!.lostShare;
    expect(share(document)).toBeCloseTo(7 / 13, 6);
    const cells = document.cells.map((cell) => ({
      ...cell,
      samples: [],
      stats: cell.stats.map((one) => ({ ...one, overTimeGBps: one.bandwidthGBps.median / 2 })),
    }));
    expect(share({ ...document, cells })).toBeCloseTo(0.5, 6);
    const withoutAny = cells.map((cell) => ({
      ...cell,
      stats: cell.stats.map((one) => ({ ...one, overTimeGBps: undefined })),
    }));
    expect(share({ ...document, cells: withoutAny })).toBeNull();
  });

  it("have it for each process if several measured", () => {
    const [even, uneven] = [...runs([], { count: 1 }), ...runs([few], { count: 1 })] as [
      ResultDocument,
      ResultDocument,
    ];
    const [one, other] = [even.cells[0]!, uneven.cells[0]!];
    // Nothing is recorded of the third one's samples.
    const processMedians = [one, other, one].map(({ stats }) => stats[0]!.bandwidthGBps.median);
    const merged: CellResult = {
      ...one,
      samples: [one, other].flatMap(({ samples }, process) => samples.map((of) => ({ ...of, process }))),
      stats: one.stats.map((stats) => ({
        ...stats,
        bandwidthGBps: { ...stats.bandwidthGBps, processMedians },
      })),
    };
    const processes = ["a", "b", "c"].map((id) => ({ id, startedAt: even.run.startedAt, wallNs: 1e9 }));
    const shares = runsOf({ ...even, run: { ...even.run, processes }, cells: [merged] }, null).map(
      ({ cells }) => cells[0]!.figures[0]!.lostShare,
    );
    expect(shares[0]).toBeCloseTo(0, 6);
    expect(shares[1]).toBeCloseTo(7 / 13, 6);
    expect(shares[2]).toBeNull();
  });
});
