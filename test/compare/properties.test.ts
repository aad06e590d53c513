import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Comparison } from "../../src/compare/comparison.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import { buildRuns, compareRuns, documentAtSpeed } from "../helpers/runs.js";

const floorless = { rule: { thresholds: { ...defaultThresholds, floorGBps: 0, floorUs: 0 } } };
const latency = { mode: "latency", GBps: 1, latencyUs: { median: 8, p99: 9 } } as const;
const cells = [1, 2, 3].flatMap((workers) => [
  { workers, GBps: 50 + workers },
  { workers, GBps: 10 + workers, memory: "pageable" as const },
  { workers, ...latency },
]);
const sides = fc
  .record({
    seed: fc.integer({ min: 1, max: 1e6 }),
    speed: fc.double({ min: 0.7, max: 1.2, noNaN: true }),
    deviation: fc.constantFrom(0.001, 0.01, 0.05),
    counts: fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 })),
  })
  .map(({ seed, speed, deviation, counts: [before, after] }) => [
    buildRuns({ cells, seed, deviation, count: before }),
    buildRuns({ cells, seed: seed + 1, deviation, count: after, speed }),
  ]);

type Value = number | null;

/** What was found of each cell and group, without names and units. */
const findings = ({ cells, groups, outcome }: Comparison, shown: (value: Value) => unknown) => ({
  outcome,
  found: [...cells, ...groups].map((one) => {
    const { change, low, high } = "candidate" in one ? one.candidate! : one;
    return [one.verdict, ...[change, low, high, one.wouldShow].map(shown)];
  }),
});

function expectSame(change: (runs: ResultDocument[]) => ResultDocument[]): void {
  fc.assert(
    fc.property(sides, ([before, after]) => {
      const usual = compareRuns(before!, after!, floorless);
      const changed = compareRuns(change(before!), change(after!), floorless);
      expect(findings(changed, (value) => value)).toEqual(
        findings(usual, (value) => value && expect.closeTo(value, 8)),
      );
    }),
    { numRuns: 25, seed: 11 },
  );
}

describe("what a comparison finds", () => {
  it("does not depend on the order of runs", () => {
    expectSame((runs) => runs.toReversed());
  });

  it("does not depend on the number of the device", () => {
    expectSame((runs) =>
      runs.map((run) => ({
        ...run,
        devices: run.devices.map((device) => ({ ...device, ordinal: 3 })),
        cells: run.cells.map((cell) => ({ ...cell, device: 3, id: cell.id.replace("d0/", "d3/") })),
      })),
    );
  });

  it("does not depend on the scale of figures", () => {
    expectSame((runs) => runs.map((run) => documentAtSpeed(run, 1000)));
  });

  it("is no better with a larger loss", () => {
    const isSlower = (one: Comparison) => one.cells.map(({ verdict }) => verdict === "slower");
    const isGood = (one: Comparison) =>
      one.cells.map(({ verdict }) => verdict === "not slower" || verdict === "faster");
    fc.assert(
      fc.property(sides, fc.double({ min: 0.8, max: 1, noNaN: true }), ([before, after], factor) => {
        const worse = after!.map((run) => documentAtSpeed(run, factor));
        const [usual, lost] = [after!, worse].map((runs) => compareRuns(before!, runs, floorless));
        for (const [i, was] of isSlower(usual!).entries())
          expect([was && !isSlower(lost!)[i], !isGood(usual!)[i] && isGood(lost!)[i]]).toEqual([
            false,
            false,
          ]);
      }),
      { numRuns: 25, seed: 11 },
    );
  });
});
