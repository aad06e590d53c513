import { describe, expect, it } from "vitest";
import { awaitsMoreRuns, findSuspects } from "../../src/compare/compare-results.js";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import { buildDevice, KiB } from "../helpers/result-document.js";
import { buildRuns, compareRuns, comparisonRequest, type RunsPart, usualRule } from "../helpers/runs.js";

/** The one cell of a comparison: `part` describes both sides, whose noise is not the same. */
function verdictOn(part: RunsPart, candidate: RunsPart, options?: Parameters<typeof compareRuns>[2]) {
  const comparison = compareRuns(buildRuns(part), buildRuns({ ...part, seed: 2, ...candidate }), options);
  expect(comparison.cells).toHaveLength(1);
  return comparison.cells[0]!;
}

describe("the verdict on a cell of 50 GB/s, with 0.2 % of noise between five runs on each side", () => {
  it.each([
    [1, "not slower", "a drop of 3 % lies outside the interval"],
    [0.99, "not slower", "a drop of 3 % lies outside the interval"],
    [0.9, "slower", "by more than 3 %, beyond the spread between runs"],
    [1.02, "not slower", "a drop of 3 % lies outside the interval"],
    [1.1, "faster", "by more than 3 %, beyond the spread between runs"],
  ])("at %f times the speed is %s", (speed, verdict, reason) => {
    const cell = verdictOn({}, { speed });
    expect(cell).toMatchObject({ verdict, reason, unit: "GB/s", moved: "h2d", threshold: 0.03 });
    expect(cell.baseline?.figure).toBeCloseTo(50, 0);
    expect(cell.candidate?.change).toBeCloseTo(speed - 1, 2);
    expect(cell.candidate?.low).toBeLessThan(cell.candidate!.change!);
    expect(cell.candidate?.high).toBeGreaterThan(cell.candidate!.change!);
    expect(cell.spread?.source).toBe("these runs");
  });

  it("is undecided if the noise is larger than the threshold", () => {
    const emulated = { document: { backend: "emulated" }, deviation: 0.08 } as const;
    expect(verdictOn(emulated, { speed: 0.95 })).toMatchObject({
      verdict: "inconclusive",
      reason: "the spread between runs neither shows nor excludes a drop of 3 %",
    });
  });

  it("is missing or new if only one side has it", () => {
    const [shared, other] = [{ GBps: 50 }, { GBps: 50, workers: 2 }];
    const [both, one] = [buildRuns({ cells: [shared, other] }), buildRuns({ cells: [shared] })];
    expect(compareRuns(both, one).cells[1]).toMatchObject({
      verdict: "missing",
      reason: "the candidate did not measure it",
      candidate: null,
    });
    expect(compareRuns(one, both).cells[1]).toMatchObject({
      verdict: "new",
      reason: "the baseline does not have it",
      baseline: null,
      candidate: { runs: 5, change: null, low: null, high: null },
    });
    expect(compareRuns(one, both).counts).toMatchObject({ "not slower": 1, new: 1, missing: 0 });
  });
});

describe("the compared figures", () => {
  const latency = { mode: "latency", sizeBytes: 4 * KiB } as const;

  it("are times of a copy in latency mode (less is faster)", () => {
    const cells = [{ ...latency, GBps: 0.4, latencyUs: { median: 10, p99: 14 } }];
    const slower = verdictOn({ cells }, { speed: 0.8 });
    expect(slower).toMatchObject({ verdict: "slower", unit: "us" });
    expect(slower.baseline?.figure).toBeCloseTo(10, 0);
    expect(slower.candidate?.change).toBeCloseTo(0.25, 1);
    expect(slower.candidate?.low).toBeLessThan(slower.candidate!.change!);
    const faster = verdictOn({ cells }, { speed: 1.25 });
    expect(faster.verdict).toBe("faster");
    expect(faster.candidate?.change).toBeCloseTo(-0.2, 1);
  });

  it("are both directions and, for throughput, their sum", () => {
    const bidir = { direction: "bidir", GBps: { h2d: 40, d2h: 40, sum: 80 } } as const;
    const lopsided = { ...bidir, GBps: { h2d: 30, d2h: 50, sum: 80 } };
    const { cells } = compareRuns(buildRuns({ cells: [bidir] }), buildRuns({ cells: [lopsided], seed: 2 }));
    expect(cells.map(({ moved, unit, verdict }) => `${moved} ${unit} ${verdict}`)).toEqual([
      "h2d GB/s slower",
      "d2h GB/s faster",
      "sum GB/s not slower",
    ]);

    const each = { ...latency, ...bidir, GBps: { h2d: 1, d2h: 1 }, latencyUs: { median: 8, p99: 9 } };
    const runs = buildRuns({ cells: [each] });
    expect(compareRuns(runs, runs).cells.map(({ moved, unit }) => `${moved} ${unit}`)).toEqual([
      "h2d us",
      "d2h us",
    ]);
  });
});

describe("the change that counts", () => {
  it.each([
    ["0.05 GB/s", { GBps: 0.3 }, 0.9],
    ["0.2 µs", { mode: "latency", GBps: 4, latencyUs: { median: 0.2, p99: 2 } } as const, 0.65],
  ])("never less than the floor of %s, whatever the share", (floor, cell, speed) => {
    expect(verdictOn({ cells: [cell] }, { speed })).toMatchObject({
      verdict: "not slower",
      reason: `the floor of ${floor} lies outside the interval`,
    });
    const thresholds = { ...defaultThresholds, floorGBps: 0, floorUs: 0 };
    expect(verdictOn({ cells: [cell] }, { speed }, { rule: { thresholds } }).verdict).toMatch(
      /^(probably )?slower$/,
    );
  });

  const slowCell = { GBps: 0.08 };
  const quickCell = { mode: "latency", GBps: 4, latencyUs: { median: 0.3, p99: 2 } } as const;

  it.each([
    // The floor is 0.05 GB/s either way: from 0.08 down to 0.03, and up to 0.13.
    ["0.08 GB/s", 0.5, "not slower", slowCell],
    ["0.08 GB/s", 0.3, "slower", slowCell],
    ["0.08 GB/s", 1.5, "not slower", slowCell],
    ["0.08 GB/s", 1.8, "faster", slowCell],
    // And 0.2 µs: from 0.3 up to 0.5, and down to 0.1.
    ["0.3 µs", 1 / 1.3, "not slower", quickCell],
    ["0.3 µs", 1 / 1.8, "slower", quickCell],
    ["0.3 µs", 1 / 0.4, "not slower", quickCell],
    ["0.3 µs", 1 / 0.3, "faster", quickCell],
  ])(
    "is a difference of the floor, up or down: %s at %f times the speed is %s",
    (_, speed, verdict, cell) => {
      expect(verdictOn({ cells: [cell] }, { speed }).verdict).toBe(verdict);
    },
  );

  it("is the floor for a cell so slow that its noise lies within it", () => {
    const noisy = { document: { backend: "emulated" }, deviation: 0.05 } as const;
    const verdict = (GBps: number) => verdictOn({ ...noisy, cells: [{ GBps }] }, { speed: 0.97 }).verdict;
    expect([50, 0.2, 0.04].map(verdict)).toEqual(["inconclusive", "not slower", "not slower"]);
  });

  it("is undecided if the noise is larger than the floor too", () => {
    const noisy = { document: { backend: "emulated" }, deviation: 0.2, cells: [{ GBps: 0.3 }] } as const;
    expect(verdictOn(noisy, { speed: 0.9 })).toMatchObject({
      verdict: "inconclusive",
      reason: "the spread between runs neither shows nor excludes the floor of 0.05 GB/s",
    });
  });

  it("is each cell's own threshold", () => {
    const cells = [{ GBps: 50 }, { GBps: 50, direction: "d2h" }] as const;
    const thresholds = { ...defaultThresholds, direction: { d2h: 0.2 } };
    const runs = [buildRuns({ cells }), buildRuns({ cells, speed: 0.88, seed: 2 })] as const;
    const compared = compareRuns(...runs, { rule: { thresholds } });
    expect(compared.cells).toMatchObject([
      { verdict: "slower", threshold: 0.03 },
      { verdict: "not slower", threshold: 0.2 },
    ]);
    expect(compared.outcome).toBe("regression");
  });
});

describe("one run against one", () => {
  const single = { count: 1, deviation: 0 };

  it("takes the spread that was recorded on a GPU, and says so", () => {
    const comparison = compareRuns(buildRuns(single), buildRuns({ ...single, speed: 0.8 }));
    const spread = { source: "recorded", logDeviation: Math.sqrt(1.88e-6), degreesOfFreedom: 4.4 };
    expect(comparison.cells[0]).toMatchObject({ verdict: "slower", spread });
    expect(comparison.notes).toContainEqual(
      expect.stringMatching(/^a side has only one or two runs: .*of pinned is taken from runs/),
    );
    expect(comparisonSchema.parse(comparison)).toEqual(comparison);
  });

  it.each<[string, RunsPart]>([
    ["on a GPU that was not recorded", { document: { devices: [buildDevice({ name: "NVIDIA T4" })] } }],
    ["of an emulated device", { document: { backend: "emulated" } }],
    ["of memory that was not recorded", { cells: [{ memory: "mapped", GBps: 50 }] }],
  ])("is undecided on %s without recorded spread", (_, part) => {
    expect(verdictOn({ ...single, ...part }, { speed: 0.2 })).toMatchObject({
      verdict: "inconclusive",
      reason: expect.stringMatching(
        /^a side has only one or two runs, and no spread .* is recorded for this kind$/,
      ),
      candidate: { low: null, high: null, pValue: null },
      spread: null,
    });
  });
});

const baseline = buildRuns();
const slowCandidate = buildRuns({ speed: 0.9, seed: 2 });
const check = (fresh: ReturnType<typeof buildRuns>, candidate = slowCandidate) =>
  compareRuns(baseline, candidate, { command: "check", fresh });

describe("check calls a cell slower", () => {
  it("if fresh processes confirm it", () => {
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

  it("probably, and fails, if no fresh process could measure it", () => {
    const reason = "it looked slower, and fresh processes could not measure it again";
    expect(check([])).toMatchObject({
      outcome: "regression",
      cells: [{ verdict: "probably slower", reason }],
    });
  });

  it.each([
    [
      "they show the baseline's speed",
      buildRuns({ seed: 3 }),
      "5 of 5 runs were far slower, and none of 5 fresh processes was",
    ],
    [
      "the one that there was shows it",
      buildRuns({ count: 1, seed: 3 }),
      "it looked slower, and fresh processes did not confirm it",
    ],
  ])("not if %s", (_, fresh, reason) => {
    expect(check(fresh)).toMatchObject({ outcome: "pass", cells: [{ verdict: "inconclusive", reason }] });
  });

  it("not if they lost more than half the threshold, but too noisily", () => {
    const atSpeeds = (...speed: number[]) => buildRuns({ speed, deviation: 0 });
    const comparison = compareRuns(
      atSpeeds(1.03, 1, 0.97, 1.01, 0.99),
      atSpeeds(0.86, 0.83, 0.8, 0.84, 0.82),
      { command: "check", fresh: atSpeeds(0.99, 0.96, 0.93, 0.97, 0.95) },
    );
    const [cell] = comparison.cells;
    // All runs together show a drop of more than the threshold, and most of them are slower by more than half of it.
    expect(cell!.candidate!.change).toBeLessThan(-0.05);
    expect(cell!.adjustedPValue).toBeLessThan(usualRule.significance);
    expect(cell!.confirmation!.change).toBeLessThan(-0.025);
    expect(cell!.confirmation!.pValue).toBeGreaterThan(0.05);
    expect(cell).toMatchObject({
      verdict: "inconclusive",
      reason: "it looked slower, and fresh processes did not confirm it",
    });
  });

  it("but compare, which measures nothing, calls it slower at once", () => {
    const comparison = compareRuns(baseline, slowCandidate);
    expect(comparison).toMatchObject({ outcome: "regression", confirmation: null });
    expect(comparison.notes).toEqual([
      "nothing was measured again: `pinbench check` confirms what is slower with fresh processes",
    ]);
  });
});

describe("a cell with some slow runs", () => {
  const speeds = (slow: number, count: number, speed = 0.6) =>
    Array.from({ length: count }, (_, run) => (run < slow ? speed : 1));
  const pinned = Array.from({ length: 30 }, (_, i) => ({ GBps: 50, workers: i + 1 }));
  const wide = buildRuns({ cells: pinned, count: 10 });
  const candidateOf = (speed: number[], seed = 2) => buildRuns({ cells: pinned, speed, seed });

  it.each([
    ["2 of 5 that are 40 % slower", 2, 5, 0.6],
    ["1 of 3 that is 90 % slower", 1, 3, 0.1],
    ["7 of 10 that are 40 % slower", 7, 10, 0.6],
    ["1 of 5 that is 40 % slower", 1, 5, 0.6],
  ])("is unsteady, in every cell and never well: %s", (_, slow, count, speed) => {
    const comparison = compareRuns(wide, candidateOf(speeds(slow, count, speed)));
    expect(comparison).toMatchObject({ outcome: "regression", counts: { unsteady: 30, "not slower": 0 } });
    const [cell] = comparison.cells;
    expect(cell!.reason).toBe(`${slow} of ${count} runs are far slower, of the baseline's 10 none`);
    expect(cell!.slowRuns).toMatchObject({ count: slow, runs: count, ofBaseline: 0 });
    expect(cell!.slowRuns!.worstChange).toBeCloseTo(speed - 1, 1);
  });

  it("names when the slow runs started", () => {
    const [cell] = compareRuns(baseline, buildRuns({ speed: [1, 0.6, 1, 0.6, 1], seed: 2 })).cells;
    expect(cell!.slowRuns!.startedAt).toEqual(["2026-11-20T10:11:00.000Z", "2026-11-20T10:13:00.000Z"]);
  });

  it("is slower if four fifths of the runs are", () => {
    expect(compareRuns(wide, candidateOf(speeds(4, 5))).counts).toMatchObject({ slower: 30, unsteady: 0 });
  });

  it("is not unsteady for runs within the threshold", () => {
    expect(compareRuns(wide, candidateOf(speeds(2, 5, 0.98))).counts).toMatchObject({ unsteady: 0 });
  });

  it.each([
    ["rarer", 1, 10],
    ["as often", 2, 10],
    ["more often, by chance or not", 1, 3],
  ])("is unsteady also if the baseline had slow runs %s", (_, slow, runs) => {
    const before = buildRuns({ cells: pinned, speed: speeds(slow, runs) });
    const { counts, cells } = compareRuns(before, candidateOf(speeds(1, 5)));
    expect(counts).toMatchObject({ unsteady: 30, "not slower": 0 });
    expect(cells[0]!.slowRuns).toMatchObject({ count: 1, ofBaseline: slow });
  });

  it("is undecided if the baseline certainly had slow runs more often", () => {
    const before = buildRuns({ cells: pinned, speed: speeds(9, 20) });
    const { counts, cells } = compareRuns(before, candidateOf(speeds(1, 24)));
    expect(counts).toMatchObject({ inconclusive: 30 });
    expect(cells[0]!.reason).toBe(
      "1 of 24 runs are far slower, of the baseline's 20 9: less often than before",
    );
  });

  it("gives the share of slow runs Wilson's interval", () => {
    const { share } = compareRuns(wide, candidateOf(speeds(2, 5))).cells[0]!.slowRuns!;
    expect(share.low).toBeCloseTo(0.1176, 4);
    expect(share.high).toBeCloseTo(0.7693, 4);
  });

  it.each(["pinned", "registered", "mapped"] as const)(
    "fails the comparison if the memory is %s",
    (memory) => {
      const cells = [{ GBps: 50, memory }];
      const [before, after] = [buildRuns({ cells }), buildRuns({ cells, speed: speeds(2, 5), seed: 2 })];
      expect(compareRuns(before, after)).toMatchObject({ outcome: "regression", counts: { unsteady: 1 } });
    },
  );

  it.each(["pageable", "staged", "write-combined"] as const)(
    "fails only with --strict if the memory is %s, which has slow runs by nature",
    (memory) => {
      const cells = [{ GBps: 20, memory }];
      const [before, after] = [buildRuns({ cells }), buildRuns({ cells, speed: speeds(2, 5), seed: 2 })];
      expect(compareRuns(before, after)).toMatchObject({ outcome: "pass", counts: { unsteady: 1 } });
      expect(compareRuns(before, after, { rule: { strict: true } })).toMatchObject({ outcome: "regression" });
    },
  );

  it("is confirmed by a check if fresh processes have slow runs again", () => {
    const first = candidateOf(speeds(1, 5));
    const checked = (fresh: ReturnType<typeof buildRuns>) =>
      compareRuns(wide, first, { command: "check", fresh });
    expect(checked(candidateOf([1, 1, 0.6, 1, 1], 3))).toMatchObject({
      outcome: "regression",
      counts: { unsteady: 30 },
    });
    const unmet = checked(candidateOf(speeds(0, 24), 3));
    expect(unmet).toMatchObject({ outcome: "pass", counts: { inconclusive: 30, "not slower": 0 } });
    expect(unmet.cells[0]!.reason).toBe("1 of 5 runs were far slower, and none of 24 fresh processes was");
  });

  it("is not confirmed by a fresh process' slow run if it is the only one", () => {
    const checked = (fresh: number[]) =>
      compareRuns(wide, candidateOf([1, 1, 1, 1, 1]), { command: "check", fresh: candidateOf(fresh, 3) });
    const once = checked([1, 1, 0.6, 1, 1]);
    expect(once).toMatchObject({ outcome: "pass", counts: { inconclusive: 30 } });
    expect(once.cells[0]).toMatchObject({
      reason: "1 of 5 fresh processes was far slower, and no run before these",
      slowRuns: { count: 1, runs: 10 },
    });
    expect(checked([1, 0.6, 0.6, 1, 1]).counts).toMatchObject({ unsteady: 30 });
  });

  it("makes a check wait only for slow runs of its suspects", () => {
    const request = comparisonRequest(wide, candidateOf(speeds(1, 5)), {
      command: "check",
      fresh: candidateOf(speeds(0, 5), 3),
    });
    expect(awaitsMoreRuns(request)).toBe(true);
    expect(awaitsMoreRuns({ ...request, suspects: [] })).toBe(false);
  });

  it.each([
    [1, 5, 24],
    [1, 3, 14],
    [2, 5, 11],
    [7, 10, 5],
    [1, 50, 24],
  ])("needs fresh processes by its rate of %i in %i, 24 at most: %i", (slow, of, runs) => {
    const suspects = findSuspects(comparisonRequest(wide, candidateOf(speeds(slow, of))));
    expect(suspects).toMatchObject({ runs, ids: wide[0]!.cells.map(({ id }) => id) });
  });
});

describe("the suspects, which are measured again", () => {
  const cells = [{ GBps: 50 }, { GBps: 50, workers: 2 }, { GBps: 12, memory: "registered" }] as const;
  const before = buildRuns({ cells });
  const suspectsAt = (speeds: readonly number[]) => {
    const slowed = cells.map((cell, i) => ({ ...cell, GBps: cell.GBps * speeds[i]! }));
    return findSuspects(comparisonRequest(before, buildRuns({ cells: slowed, seed: 2 }))).ids;
  };
  const ids = before[0]!.cells.map(({ id }) => id);

  it("are the cells that lost more than half their threshold", () => {
    expect(suspectsAt([1, 1, 1])).toEqual([]);
    expect(suspectsAt([0.96, 1, 0.96])).toEqual([ids[0], ids[2]]);
    expect(suspectsAt([1.1, 0.99, 1])).toEqual([]);
  });

  it("include a cell of two directions once", () => {
    const bidir = [
      { direction: "bidir", mode: "latency", GBps: { h2d: 1, d2h: 1 }, latencyUs: { median: 8, p99: 9 } },
    ] as const;
    const [fast, slow] = [buildRuns({ cells: bidir }), buildRuns({ cells: bidir, speed: 0.8, seed: 2 })];
    expect(findSuspects(comparisonRequest(fast, slow)).ids).toEqual([fast[0]!.cells[0]!.id]);
  });
});
