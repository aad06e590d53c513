import { describe, expect, it } from "vitest";
import type { Given } from "../../src/settings/setting.js";
import type { runSettings } from "../../src/settings/table.js";
import { errorOf, h200, planOf } from "./support.js";

const places = [
  { cpuNode: 0, memoryNode: 0 },
  { cpuNode: 1, memoryNode: 1 },
  { cpuNode: 1, memoryNode: 0 },
  { cpuNode: 0, memoryNode: 1 },
];
const devices = [h200, { ...h200, ordinal: 1 }];
const all = { numa: "all" } as const;

describe("a plan of all NUMA nodes", () => {
  it("is the same for the ids of its cells", () => {
    const { cells } = planOf(all, { devices, numaPlaces: places });
    const listed = planOf({ cells: cells.map(({ id }) => id) }, { devices });
    expect(listed.cells.map(({ id }) => id).sort()).toEqual(cells.map(({ id }) => id).sort());
  });

  it("ends within a budget that was asked for, and not within one that was not", () => {
    const timesOf = (given: Given<typeof runSettings>) => {
      const { stopping, estimate } = planOf({ ...all, ...given }, { devices, numaPlaces: places });
      expect(estimate.leastDurationNs).toBeLessThanOrEqual(estimate.durationNs);
      return { isHard: stopping.isHard, isWithin: estimate.measuringNs <= stopping.budgetNs };
    };
    expect(timesOf({ budgetNs: 1e6 })).toEqual({ isHard: true, isWithin: true });
    expect(timesOf({ budgetNs: 1e6, samplesPerCell: 9 })).toEqual({ isHard: false, isWithin: false });
    expect(timesOf({}).isHard).toBe(false);
    expect(planOf({ budgetNs: 1e6 }).stopping.isHard).toBe(false);
  });
});

it("a cell names the nodes of both CPUs and memory, and whole copies of threads", () => {
  const plain = "d0/h2d/pinned/65536/w1/throughput/wall/cold";
  for (const variant of ["process", "beside-host", "chunks-4", "blocks-4096-loop"]) {
    const error = errorOf(() => planOf({ cells: [`${plain}/${variant}/cpus-0-memory-0`] }));
    expect(error.message, variant).toContain("threads make whole copies");
  }
  const within = `${plain.replace("h2d/pinned", "d2d/device")}/cpus-0-memory-0`;
  expect(errorOf(() => planOf({ cells: [within] })).message).toContain("copies between host and device");
});
