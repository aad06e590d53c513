import { describe, expect, it } from "vitest";
import type { Absence, RunFigures } from "../../src/compare/result-set.js";
import { hostRates, joinRuns, type RunFigure } from "../../src/compare/series.js";
import { frozen } from "../helpers/frozen.js";
import { buildFailed, buildSkipped, type CellPart } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

const runs = (...args: Parameters<typeof buildRuns>) => resultSet(buildRuns(...args)).runs;
const exact = { deviation: 0 };
const pinned = { GBps: 50 };
const pageable = { GBps: 10, memory: "pageable" } as const;

describe("runs are joined by the ids of their cells", () => {
  it("into a series each, in the order of first appearance, with a figure a run in the order of these", () => {
    const { series } = joinRuns({
      baseline: runs({ ...exact, cells: [pinned, pageable], speed: [1, 1.1] }),
      first: runs({ ...exact, cells: [{ GBps: 7, workers: 2 }, pageable, pinned], speed: [1.2, 1.3] }),
      fresh: runs({ ...exact, cells: [pinned], speed: [1.4] }),
    });
    expect(series.map(({ cell, baseline }) => [cell.memory, cell.workers, baseline.length])).toEqual([
      ["pinned", 1, 2],
      ["pageable", 1, 2],
      ["pinned", 2, 0],
    ]);
    const [first, second] = series;
    const values = (figures: readonly RunFigure[]) => figures.map(({ value }) => +value.toFixed(6));
    expect([first!.baseline, first!.first, first!.fresh].map(values)).toEqual([[50, 55], [60, 65], [70]]);
    expect(first!.baseline.map(({ startedAt }) => startedAt.slice(11, 16))).toEqual(["10:10", "10:11"]);
    expect(second).toMatchObject({ fresh: [], absence: null, moved: "h2d", unit: "GB/s" });
  });

  it("a series for each direction of a bidir cell, and for the sum of its throughput", () => {
    const cells = [
      { direction: "bidir", GBps: { h2d: 40, d2h: 42, sum: 80 } },
      { direction: "bidir", mode: "latency", GBps: { h2d: 1, d2h: 1 }, latencyUs: { median: 8, p99: 9 } },
    ] as const;
    const { series } = joinRuns({ baseline: runs({ ...exact, cells, count: 1 }), first: [], fresh: [] });
    expect(series.map(({ moved, unit, baseline }) => [moved, unit, baseline[0]!.value])).toEqual([
      ["h2d", "GB/s", 40],
      ["d2h", "GB/s", 42],
      ["sum", "GB/s", 80],
      ["h2d", "us", 8],
      ["d2h", "us", 8],
    ]);
  });
});

describe("why a figure is absent", () => {
  const whole = runs({ cells: [pinned, pageable] });
  const lacking = (cell: ReturnType<typeof buildFailed>) => {
    const [document] = buildRuns({ cells: [pageable], count: 1 });
    return resultSet([{ ...document!, cells: [cell, ...document!.cells] }]).runs;
  };
  const failed = lacking(buildFailed({}, "CUDA", "lost"));
  const skipped = lacking(buildSkipped({}, "no kernels"));
  const none: RunFigures[] = [];

  it.each<[string, Parameters<typeof joinRuns>[0], Absence["failure"] | "none", number]>([
    ["that it failed", { baseline: whole, first: [...whole, ...failed], fresh: none }, "failed", 1],
    ["that it was skipped", { baseline: whole, first: [...whole, ...skipped], fresh: none }, null, 0],
    ["that it failed in a fresh run", { baseline: whole, first: whole, fresh: failed }, "failed", 1],
    ["that it was skipped in one", { baseline: whole, first: whole, fresh: skipped }, null, 0],
    ["nothing of the baseline", { baseline: [...failed, ...whole], first: whole, fresh: none }, "none", 0],
    ["the failure before", { baseline: whole, first: [...failed, ...skipped], fresh: skipped }, "failed", 1],
    ["the failure after", { baseline: whole, first: [...skipped, ...failed], fresh: skipped }, "failed", 1],
  ])("is %s", (_, joined, failure, count) => {
    const { series, failures } = joinRuns(joined);
    const [{ absence, cell }, other] = series as [(typeof series)[0], (typeof series)[0]];
    expect(absence === null ? "none" : absence.failure).toBe(failure);
    expect(other.absence).toBeNull();
    expect(failures).toEqual(Array(count).fill(`${cell.id}: it failed: lost`));
  });

  it("makes no series if neither side has a figure", () => {
    const { series, failures } = joinRuns({ baseline: failed, first: failed, fresh: [] });
    expect(series.map(({ cell }) => cell.memory)).toEqual(["pageable"]);
    expect(failures).toHaveLength(1);
  });
});

type Logs = Readonly<Record<string, number>>;

/** A run with the logarithms of its cells' speeds, by id; "d1/…" is a cell of device 1. */
function runOf(host: Logs, others: Logs = {}): RunFigures {
  const cells = (logs: Logs, memory: string) =>
    Object.entries(logs).map(([id, log]) => ({
      cell: { id, memory, device: Number(id[1]) },
      figures: [{ value: Math.exp(log) }],
    }));
  return frozen({ cells: [...cells(host, "host"), ...cells(others, "pinned")] } as unknown as RunFigures);
}
const ratesOf = (some: readonly RunFigures[], { logSpeeds }: ReturnType<typeof hostRates>, device = 0) =>
  some.map((run) => logSpeeds.get(run)!.get(device));
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 10));

describe("the rate at which the CPU copied in a run", () => {
  it("is the weighted mean of its cells, and so is its error", () => {
    // Within the first group a cell varies by squares of 0, the other by 2: with four shared degrees of a variance of 1
    // the weights are 5/4 to 5/6, or 0.6 to 0.4.
    const first = [runOf({ "d0/a": 0, "d0/b": 0 }), runOf({ "d0/a": 0, "d0/b": 2 })];
    const second = [runOf({ "d0/a": 1, "d0/b": 1 })];
    const rates = hostRates([first, second]);
    expect(ratesOf([...first, ...second], rates)).toEqual(close([0, 0.8, 1]));
    // What is left: 0, -0.8, 0 with a variance of 0.64/3, and 0, 1.2, 0 with one of 0.48.
    expect(rates.errorVariance).toBeCloseTo((0.36 * (0.64 / 3)) / 0.4 + (0.16 * 0.48) / 0.6, 10);
  });

  it("weights constant cells equally, and uses only host cells that every run has", () => {
    const both = [runOf({ "d0/a": 1, "d0/b": 2, "d0/c": 7 }, { "d0/p": 9 }), runOf({ "d0/a": 1, "d0/b": 2 })];
    const rates = hostRates([both]);
    expect(ratesOf(both, rates)).toEqual(close([1.5, 1.5]));
    expect(rates.errorVariance).toBeCloseTo(0, 12);
  });

  it.each([0, 1])(
    "is each device's own; the largest error of any counts, here that of device %i",
    (noisy) => {
      const quiet = 1 - noisy;
      const all = [3, 4, 5].map((log, i) =>
        runOf({ [`d${quiet}/a`]: log, [`d${noisy}/a`]: i % 2, [`d${noisy}/b`]: 1 - (i % 2) }),
      );
      const rates = hostRates([all]);
      expect(ratesOf(all, rates, quiet)).toEqual(close([3, 4, 5]));
      expect(ratesOf(all, rates, noisy)).toEqual(close([0.5, 0.5, 0.5]));
      // Both cells lie half above or below the mean: variances of 1/3, of weight 1/2. A single cell has none.
      expect(rates.errorVariance).toBeCloseTo(2 * ((0.25 * (1 / 3)) / 0.5), 10);
      expect(hostRates([all.map((_, i) => runOf({ "d0/a": i }))]).errorVariance).toBe(0);
    },
  );

  it("is absent for a run without any of a device's cells, and without runs", () => {
    const some = [runOf({ "d0/a": 1 }), runOf({})];
    expect(ratesOf(some, hostRates([some]))).toEqual([undefined, undefined]);
    expect(hostRates([]).logSpeeds.size).toBe(0);
  });

  it("is weighted by the cells' spread within groups, whatever lies between these", () => {
    const groups = [
      [runOf({ "d0/a": 0, "d0/b": 0 }), runOf({ "d0/a": 1, "d0/b": 0 })],
      [runOf({ "d0/a": 100, "d0/b": 0 }), runOf({ "d0/a": 101, "d0/b": 2 })],
      [runOf({ "d0/a": 9, "d0/b": 0 })],
    ];
    // Squares of 1/2 + 1/2 and of 0 + 2, of two degrees of freedom each: weights of 6/4 to 6/5, or 5 to 4.
    expect(ratesOf(groups.flat(), hostRates(groups))).toEqual(close([0, 5 / 9, 500 / 9, 57, 5]));
  });

  it("goes with the figures of its device, also if suspects alone were measured again", () => {
    const host = [0, 1].flatMap((device) =>
      [1, 2].map((workers): CellPart => ({ device, memory: "host", workers, GBps: 10 * (device + 1) })),
    );
    const copies: CellPart = { device: 1, memory: "pageable", GBps: 5 };
    const [baseline, first] = [1, 2].map((seed) => runs({ ...exact, seed, cells: [...host, copies] }));
    const fresh = runs({ ...exact, cells: [copies] });
    const figures = joinRuns({ baseline: baseline!, first: first!, fresh }).series.at(-1)!;
    const hostOf = (group: "baseline" | "first" | "fresh") =>
      figures[group].map(({ hostLogSpeed }) => hostLogSpeed && +Math.exp(hostLogSpeed).toFixed(6));
    expect([hostOf("baseline"), hostOf("first")]).toEqual([Array(5).fill(20), Array(5).fill(20)]);
    expect(hostOf("fresh")).toEqual(Array(5).fill(null));
  });
});
