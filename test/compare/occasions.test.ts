import { describe, expect, it } from "vitest";
import { groupByOccasion } from "../../src/compare/occasions.js";

/** Runs that start this many seconds after the first second of a day. */
const runsAt = (...seconds: number[]) =>
  seconds.map((second) => ({ startedAt: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString() }));

function secondsByOccasion(...seconds: number[]): number[][] {
  return groupByOccasion(runsAt(...seconds)).map((occasion) =>
    occasion.map(({ startedAt }) => (Date.parse(startedAt) - Date.UTC(2026, 0, 1)) / 1000),
  );
}

describe("the occasions of runs", () => {
  it("are one if each run starts less than five minutes after the one before", () => {
    expect(secondsByOccasion(0, 299, 598, 897)).toEqual([[0, 299, 598, 897]]);
  });

  it("end at a pause of five minutes or more", () => {
    expect(secondsByOccasion(0, 10, 310, 4000, 4010)).toEqual([[0, 10], [310], [4000, 4010]]);
  });

  it("depend on the pause between two runs, however long the runs take", () => {
    const minutes = 60e9;
    const at = (minute: number, wallNs: number | null) => ({ ...runsAt(60 * minute)[0]!, wallNs });
    const long = [at(0, 6 * minutes), at(6, 6 * minutes), at(12, null)];
    expect(groupByOccasion([...long, at(17, 0)])).toEqual([long, [at(17, 0)]]);
  });

  it("are one if short runs lie within a long one, which counts until its end", () => {
    const at = (minute: number, minutes: number) => ({ ...runsAt(60 * minute)[0]!, wallNs: minutes * 60e9 });
    const within = [at(0, 30), at(5, 1), at(12, 1), at(34, 1)];
    expect(groupByOccasion([...within, at(40, 1)])).toEqual([within, [at(40, 1)]]);
  });

  it("follow the time of the starts, in whatever order the runs come", () => {
    for (const seconds of [
      [900, 10, 910, 0],
      [910, 900, 10, 0],
      [0, 900, 10, 910],
    ]) {
      expect(secondsByOccasion(...seconds)).toEqual([
        [0, 10],
        [900, 910],
      ]);
    }
  });

  it("read offsets of time zones as what they are", () => {
    const runs = [{ startedAt: "2026-01-01T12:00:00+02:00" }, { startedAt: "2026-01-01T10:01:00Z" }];
    expect(groupByOccasion(runs)).toEqual([runs]);
  });

  it("are never of two machines, however close the runs lie", () => {
    const on = (gpu: string, seconds: number) => ({
      startedAt: new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString(),
      machine: { hostName: [], gpuUuids: [gpu], pciAddresses: [] },
    });
    const [a, b, c, d] = [on("GPU-a", 0), on("GPU-b", 5), on("GPU-a", 10), on("GPU-b", 15)];
    expect(groupByOccasion([a, b, c, d])).toEqual([
      [a, c],
      [b, d],
    ]);
    const [e, f, g] = [on("GPU-a", 0), on("GPU-b", 1000), on("GPU-a", 2000)];
    expect(groupByOccasion([e, f, g])).toEqual([[e], [f], [g]]);
  });

  it("are none without runs", () => {
    expect(groupByOccasion([])).toEqual([]);
  });
});
