import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Comparison } from "../../src/compare/comparison.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildRuns, compareRuns, documentAtSpeed } from "../helpers/runs.js";

const latency = { mode: "latency", GBps: 1, latencyUs: { median: 8, p99: 9 } } as const;
const cells = [1, 2, 3].flatMap((workers) => [
  { workers, GBps: 50 + workers },
  { workers, GBps: 10 + workers, memory: "pageable" as const },
  { workers, ...latency },
]);
const drawnPart = {
  seed: fc.integer({ min: 1, max: 1e6 }),
  speed: fc.double({ min: 0.7, max: 1.2, noNaN: true }),
  deviation: fc.constantFrom(0.001, 0.01, 0.05),
  before: fc.integer({ min: 1, max: 8 }),
  after: fc.integer({ min: 1, max: 8 }),
};

/** Tests a property of both sides on 25 random comparisons. */
function expectOf(holds: (before: ResultDocument[], after: ResultDocument[]) => void): void {
  fc.assert(
    fc.property(fc.record(drawnPart), ({ seed, speed, deviation, before, after }) =>
      holds(
        buildRuns({ cells, seed, deviation, count: before }),
        buildRuns({ cells, seed: seed + 1, deviation, count: after, speed }),
      ),
    ),
    { numRuns: 25, seed: 11 },
  );
}

const verdictsOf = ({ cells, groups }: Comparison) => [...cells, ...groups].map(({ verdict }) => verdict);
const figuresOf = ({ cells, groups }: Comparison) =>
  [...cells.map(({ change }) => change), ...groups.flatMap((one) => [one.change, one.wouldShow])].map(
    // Makes large figures comparable by their relative difference.
    (value) => value && Math.asinh(value),
  );

function expectSame(change: (runs: ResultDocument[]) => ResultDocument[]): void {
  expectOf((before, after) => {
    const [usual, changed] = [compareRuns(before, after), compareRuns(change(before), change(after))];
    expect(verdictsOf(changed)).toEqual(verdictsOf(usual));
    expect(changed.outcome).toBe(usual.outcome);
    expect(figuresOf(changed)).toEqual(figuresOf(usual).map((value) => value && expect.closeTo(value, 7)));
  });
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

  it.each([0.97, 0.85])(
    "is never better if all of the candidate's speeds are %f times as high as before",
    (factor) => {
      expectOf((before, after) => {
        const worse = after.map((run) => documentAtSpeed(run, factor));
        const [usual, lost] = [after, worse].map((runs) => verdictsOf(compareRuns(before, runs)));
        for (const [i, was] of usual!.entries()) {
          if (was === "slower") expect(lost![i]).toBe("slower");
          if (lost![i] === "faster") expect(was).toBe("faster");
        }
      });
    },
  );
});
