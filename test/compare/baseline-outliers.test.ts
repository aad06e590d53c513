import { describe, expect, it } from "vitest";
import { countSlowRuns } from "../../src/compare/evidence/uneven-runs.js";
import type { CellPart } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

/** Runs of these speeds, without further noise. */
const runsOf = (speeds: readonly number[], cells: readonly CellPart[] = [{ GBps: 50 }]) =>
  resultSet(buildRuns({ cells, deviation: 0, speed: speeds })).runs;

/** The number of slow ones among runs of these speeds. */
function slowOf(speeds: readonly number[], cells?: readonly CellPart[]): number {
  const runs = runsOf(speeds, cells);
  return countSlowRuns(runs, runs);
}

describe("slow runs of a baseline", () => {
  it("lost more than the usual 3 % of their cell's median", () => {
    expect(slowOf([1, 1.001, 0.999, 1.0005, 0.96])).toBe(1);
    expect(slowOf([1, 1.001, 0.999, 1.0005, 0.975])).toBe(0);
    expect(slowOf([0.9, 1, 1.001, 1.0005, 0.999, 0.9995, 0.9])).toBe(2);
  });

  it("lie far outside the spread between all", () => {
    expect(slowOf([0.98, 0.99, 1, 1.01, 1.02, 0.95])).toBe(0);
    expect(slowOf([0.98, 0.99, 1, 1.01, 1.02, 0.6])).toBe(1);
  });

  it("need five runs", () => {
    expect(slowOf([1, 1.001, 0.999, 0.9])).toBe(0);
  });

  it("are counted once each, whatever number of cells shows them, of steady memory alone", () => {
    const speeds = [1, 1.001, 0.999, 1.0005, 0.9];
    expect(slowOf(speeds, [{ GBps: 50 }, { GBps: 40, workers: 2 }])).toBe(1);
    expect(slowOf(speeds, [{ GBps: 8, memory: "pageable" }])).toBe(0);
  });

  it("are those of the session that is asked about", () => {
    const all = runsOf([1, 0.9, 1.001, 0.999, 1.0005, 0.9995, 0.9]);
    expect(countSlowRuns(all.slice(0, 3), all)).toBe(1);
    expect(countSlowRuns(all.slice(2, 5), all)).toBe(0);
    // All runs tell what is usual, also if most of a session are slow.
    expect(countSlowRuns([all[0]!, all[1]!, all[6]!], all)).toBe(2);
  });
});
