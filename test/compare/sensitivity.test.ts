import { describe, expect, it } from "vitest";
import { sensitivityOf } from "../../src/compare/sensitivity.js";
import { buildDevice, type CellPart } from "../helpers/result-document.js";
import { buildRuns, compareRuns, type RunsPart, resultSet, usualRule } from "../helpers/runs.js";

const pinned = [1, 2, 4, 8, 16].map((workers): CellPart => ({ workers, GBps: 50 }));
/** A GPU of which nothing is recorded: the runs alone count. */
const notRecorded = { devices: [buildDevice({ name: "NVIDIA T4" })] };
const sensitivity = (part: RunsPart, checkRuns = 5) =>
  sensitivityOf(
    resultSet(buildRuns({ cells: pinned, count: 10, document: notRecorded, ...part })).runs,
    checkRuns,
    usualRule,
  );
const drop = (...args: Parameters<typeof sensitivity>) => sensitivity(...args)!.kinds[0]!.typicalDrop;

describe("what a baseline is good for", () => {
  it("is told for each kind of memory, latency apart", () => {
    const cells = [
      ...pinned,
      { memory: "pageable", GBps: 10 },
      { mode: "latency", GBps: 1, latencyUs: { median: 8, p99: 9 } },
    ] as const;
    expect(sensitivity({ cells })!.kinds.map(({ name, cells: count }) => [name, count])).toEqual([
      ["pinned", 5],
      ["pageable", 1],
      ["pinned latency", 1],
    ]);
  });

  it("begins with the spread between its runs", () => {
    const [kind] = sensitivity({ deviation: 0.01, count: 40 })!.kinds;
    expect(kind!.typicalDeviation).toBeCloseTo(0.01, 2);
    expect(kind!.largestDeviation).toBeGreaterThanOrEqual(kind!.typicalDeviation);
    expect(kind!.largestDrop).toBeGreaterThanOrEqual(kind!.typicalDrop);
  });

  it("is little more than the threshold where there is hardly any noise, and more with more noise", () => {
    expect(drop({ deviation: 0.0001 })).toBeGreaterThan(0.05);
    expect(drop({ deviation: 0.0001 })).toBeLessThan(0.052);
    expect(drop({ deviation: 0.01 })).toBeGreaterThan(drop({ deviation: 0.005 }));
    expect(drop({ deviation: 0.3 })).toBeLessThan(1);
  });

  // Five runs 3 % above and five 3 % below in logarithms; the tails of Student's t with 9 degrees of freedom.
  it.each([
    { cells: 1, level: 0.01, quantile: 2.821 },
    { cells: 2, level: 0.005, quantile: 3.25 },
  ])("is larger the more cells are tested: with $cells, each at a level of $level", ({ cells, quantile }) => {
    const speed = Array.from({ length: 10 }, (_, run) => Math.exp(run % 2 === 0 ? 0.03 : -0.03));
    const baseline = buildRuns({
      cells: pinned.slice(0, cells),
      speed,
      deviation: 0,
      document: notRecorded,
    });
    const rule = { ...usualRule, significance: 0.01 };
    const [kind] = sensitivityOf(resultSet(baseline).runs, 5, rule)!.kinds;
    // Nine degrees of freedom; winsorizing would leave 0.995 of the variance of a normal distribution.
    const variance = (10 * 0.03 ** 2) / 9 / 0.995;
    expect(kind!.typicalDeviation).toBeCloseTo(Math.sqrt(variance), 9);
    // Ten runs before, five and five now, and offsets of a lag-1 correlation of 0.43.
    const error = Math.sqrt(variance * (1.43 / 0.57) * (1 / 10 + 1 / 10));
    const missingOneOfTwenty = 1.833;
    expect(kind!.typicalDrop).toBeCloseTo(1 - Math.exp(-error * (quantile + missingOneOfTwenty)), 4);
    expect(kind!.largestDrop).toBe(kind!.typicalDrop);
  });

  it("gets better with more runs of either side", () => {
    const noisy = { deviation: 0.02 };
    expect(drop({ ...noisy, count: 40 })).toBeLessThan(drop({ ...noisy, count: 10 }));
    expect(drop(noisy, 20)).toBeLessThan(drop(noisy, 5));
  });

  it("is a drop that check does find", () => {
    const baseline = { cells: pinned, count: 10, deviation: 0.01 };
    const [kind] = sensitivity(baseline)!.kinds;
    const found = Array.from({ length: 20 }, (_, i) => {
      const slow = (seed: number) => buildRuns({ ...baseline, count: 5, speed: 1 - kind!.largestDrop, seed });
      const before = buildRuns({ ...baseline, seed: 100 + i });
      const comparison = compareRuns(before, slow(200 + i), { command: "check", fresh: slow(300 + i) });
      return comparison.counts.slower;
    });
    expect(found.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(0.95 * 20 * pinned.length);
  });

  it("is not known from one run", () => {
    expect(sensitivity({ count: 1 })).toBeNull();
    expect(sensitivityOf([], 5, usualRule)).toBeNull();
  });
});
