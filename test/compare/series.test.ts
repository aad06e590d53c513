import { describe, expect, it } from "vitest";
import { joinRuns, type RunFigure } from "../../src/compare/series.js";
import { buildFailed, buildSkipped } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

const exact = { deviation: 0 };
const runs = (...args: Parameters<typeof buildRuns>) => resultSet(buildRuns(...args)).runs;
const pinned = { GBps: 50 };
const pageable = { GBps: 10, memory: "pageable" } as const;

describe("runs are joined by the ids of their cells", () => {
  it("into a series each, with a figure a process in the order in which they ran", () => {
    const { series } = joinRuns({
      baseline: runs({ ...exact, cells: [pinned, pageable], speed: [1, 1.1] }),
      first: runs({ ...exact, cells: [pageable, pinned], speed: [1.2, 1.3] }),
      fresh: runs({ ...exact, cells: [pinned], speed: [1.4] }),
    });
    expect(series.map(({ cell }) => cell.memory)).toEqual(["pinned", "pageable"]);
    const [first, second] = series;
    const values = (figures: readonly RunFigure[]) => figures.map(({ value }) => value);
    expect(values(first!.baseline)).toEqual([50, expect.closeTo(55)]);
    expect(values(first!.first)).toEqual([expect.closeTo(60), expect.closeTo(65)]);
    expect(values(first!.fresh)).toEqual([expect.closeTo(70)]);
    expect(first!.baseline.map(({ startedAt }) => startedAt)).toEqual([
      "2026-11-20T10:10:00.000Z",
      "2026-11-20T10:11:00.000Z",
    ]);
    expect(second).toMatchObject({ fresh: [], absence: null, moved: "h2d", unit: "GB/s" });
  });

  it("with new cells after those of the baseline", () => {
    const { series } = joinRuns({
      baseline: runs({ cells: [pinned] }),
      first: runs({ cells: [pageable, pinned] }),
      fresh: [],
    });
    expect(series.map(({ cell, baseline }) => [cell.memory, baseline.length])).toEqual([
      ["pinned", 5],
      ["pageable", 0],
    ]);
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
  const failed = lacking(buildFailed({}, "CUDA", "out of memory"));
  const skipped = lacking(buildSkipped({}, "no kernels"));

  it.each([
    ["failed", failed, true, "it failed: out of memory"],
    ["skipped", skipped, false, "it was skipped: no kernels"],
  ])("is that it %s in any process of the candidate", (_, some, isFailure, reason) => {
    const { series, failures } = joinRuns({ baseline: whole, first: [...whole, ...some], fresh: [] });
    const [pinnedSeries, pageableSeries] = series;
    expect(failures).toEqual(isFailure ? [`${pinnedSeries!.cell.id}: ${reason}`] : []);
    expect(pinnedSeries).toMatchObject({ absence: { isFailure, reason } });
    expect(pinnedSeries!.first).toHaveLength(5);
    expect(pageableSeries!.absence).toBeNull();
    const { series: again } = joinRuns({ baseline: whole, first: whole, fresh: some });
    expect(again[0]).toMatchObject({ absence: { isFailure, reason }, fresh: [] });
  });

  it("does not matter in the baseline", () => {
    const { series, failures } = joinRuns({ baseline: [...failed, ...whole], first: whole, fresh: [] });
    expect(series[0]!.absence).toBeNull();
    expect(failures).toEqual([]);
  });

  it("makes no series if neither side has a figure", () => {
    const { series, failures } = joinRuns({ baseline: failed, first: failed, fresh: [] });
    expect(series.map(({ cell }) => cell.memory)).toEqual(["pageable"]);
    expect(failures).toEqual([`${failed[0]!.cells[0]!.cell.id}: it failed: out of memory`]);
  });

  it("is a failure if it was one in any process, whatever those before and after it say", () => {
    for (const first of [
      [...failed, ...skipped],
      [...skipped, ...failed],
    ]) {
      const { failures } = joinRuns({ baseline: whole, first, fresh: skipped });
      expect(failures).toEqual([expect.stringMatching(/: it failed: out of memory$/)]);
    }
  });
});
