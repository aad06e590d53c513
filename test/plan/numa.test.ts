import { describe, expect, it } from "vitest";
import type { Given } from "../../src/settings/setting.js";
import type { runSettings } from "../../src/settings/table.js";
import { errorOf, GiB, h200, MiB, planOf } from "./support.js";

const places = [
  { cpuNode: 0, memoryNode: 0 },
  { cpuNode: 1, memoryNode: 1 },
  { cpuNode: 1, memoryNode: 0 },
  { cpuNode: 0, memoryNode: 1 },
];
const devices = [h200, { ...h200, ordinal: 1 }];
const all = { numa: "all" } as const;

describe("a plan of all NUMA nodes", () => {
  it("has pinned copies with the CPUs next to the memory, and pageable ones with all", () => {
    const memory = ["pageable", "staged", "pinned"] as const;
    const { cells } = planOf({ ...all, directions: ["h2d"], memory }, { numaPlaces: places });
    const endOf = (memory: string) =>
      cells.filter((cell) => cell.memory === memory).map(({ id }) => id.split("cold/")[1]);
    expect(endOf("pinned")).toEqual(["cpus-0-memory-0", "cpus-1-memory-1"]);
    for (const memory of ["pageable", "staged"]) {
      expect(endOf(memory)).toEqual([
        "cpus-0-memory-0",
        "cpus-1-memory-1",
        "cpus-1-memory-0",
        "cpus-0-memory-1",
      ]);
    }
    // Nodes say more of the host's memory than a control.
    expect(endOf("host")).toEqual([]);
  });

  it("has all devices, alone and at once", () => {
    const { cells } = planOf(
      { ...all, memory: ["pinned"], directions: ["d2h"] },
      { devices, numaPlaces: places },
    );
    expect(cells.map(({ device, memoryNode, together }) => [device, memoryNode, together?.length])).toEqual([
      [0, 0, undefined],
      [0, 0, 2],
      [0, 1, undefined],
      [0, 1, 2],
      [1, 0, undefined],
      [1, 0, 2],
      [1, 1, undefined],
      [1, 1, 2],
    ]);
  });

  it("has no cell where there is nothing to compare", () => {
    expect(planOf(all).cells).toEqual([]);
  });

  it("has 16 MiB in 20 s unless a preset is named, and single copies of one device at a time", () => {
    const planned = (given: Given<typeof runSettings>) =>
      planOf({ ...all, modes: ["throughput", "latency"], ...given }, { devices, numaPlaces: places });
    const { cells, stopping } = planned({});
    expect(new Set(cells.map(({ sizeBytes }) => sizeBytes))).toEqual(new Set([16 * MiB]));
    expect(stopping.budgetNs).toBe(20e9);
    const atOnce = cells.filter(({ together }) => together !== undefined);
    expect(new Set(atOnce.map(({ mode }) => mode))).toEqual(new Set(["throughput"]));
    expect(planned({ preset: "quick" }).stopping.budgetNs).toBe(250e6);
  });

  it("has memory of all places at the same time if it fits, else of one after the other", () => {
    const placesAtOnce = (memoryAvailableBytes: number) =>
      planOf(all, { devices, numaPlaces: places, memoryAvailableBytes }).estimate.placesAtOnce;
    expect(placesAtOnce(128 * GiB)).toBe(4);
    expect(placesAtOnce(1.5 * GiB)).toBe(1);
    const [one, two] = [1, 2].map((count) => {
      const numaPlaces = places.slice(0, count);
      return planOf({ ...all, memory: ["pinned"] }, { devices, numaPlaces }).estimate;
    });
    expect(two).toMatchObject({
      ...{ hostBytes: 2 * one!.hostBytes, pinnedBytes: 2 * one!.pinnedBytes },
      deviceBytes: 2 * one!.deviceBytes,
    });
  });

  it("has the memory of each place reserved, and given back at the end", () => {
    const estimateOf = (numaPlaces: typeof places, sizeBytes: number) =>
      planOf({ ...all, memory: ["pinned"], sizesBytes: [sizeBytes] }, { numaPlaces }).estimate;
    const endNs = (...of: Parameters<typeof estimateOf>) => {
      const { durationNs, setUpNs, measuringNs } = estimateOf(...of);
      return durationNs - setUpNs - measuringNs;
    };
    const givingBackNs = (numaPlaces: typeof places) =>
      endNs(numaPlaces, 128 * MiB) - endNs(numaPlaces, 64 * MiB);
    const [one, two] = [places.slice(0, 2), [...places.slice(0, 2), { cpuNode: 2, memoryNode: 2 }]].map(
      givingBackNs,
    );
    expect(two! / one!).toBeCloseTo(3 / 2, 3);
    const [setUpOfOne, setUpOfTwo] = [1, 2].map(
      (count) => estimateOf(places.slice(0, count), 128 * MiB).setUpNs,
    );
    // Two buffers that are pinned with 3.4 GB/s, and as much of the device with 100.
    expect(setUpOfTwo! - setUpOfOne!).toBeCloseTo(256 * MiB * (1 / 3.4 + 1 / 100), -1);
  });

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
