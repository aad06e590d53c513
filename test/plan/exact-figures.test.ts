import { describe, expect, it } from "vitest";
import { cellTime } from "../../src/plan/duration.js";
import { machineSpeed } from "../../src/plan/machine-speed.js";
import { errorOf, facts, GiB, h200, MiB, planOf } from "./support.js";

/* What follows from the settings alone, to the byte and the nanosecond. */

const second = { ...h200, ordinal: 1 };
const both = { devices: [h200, second] };
const request = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;

describe("the time of a cell beside a load", () => {
  const timeOf = (beside: "none" | "compute") => {
    const { cells } = planOf({ ...request, besides: [beside] });
    const cell = cells.find((one) => (one.beside ?? "none") === beside)!;
    const timing = { samplesPerCell: null, precision: 0.001, verify: true };
    return cellTime(cell, timing, machineSpeed({ ...facts(), memorySpeed: null }));
  };

  it("has 50 ms before and 50 ms after each visit, in which the load is looked at by itself", () => {
    const [alone, beside] = [timeOf("none"), timeOf("compute")];
    expect(alone.firstVisits).toBe(6);
    expect(beside.firstNs - alone.firstNs).toBeCloseTo(6 * 100e6, 0);
    // 55 samples where they are spread by 0.3 %, of which 6 came first: 13 visits of 4.
    expect(beside.extraNs - alone.extraNs).toBeCloseTo(13 * 100e6, 0);
  });
});

describe("the time of two devices", () => {
  const estimateOf = (devices: readonly number[], more: object = {}) =>
    planOf({ ...request, samplesPerCell: 6, devices, ...more }, both).estimate;
  const closingNs = ({ durationNs, setUpNs, measuringNs }: ReturnType<typeof estimateOf>) =>
    durationNs - setUpNs - measuringNs - 80e6;

  it.each([
    ["threads", {}],
    ["worker processes", { workerKinds: ["process"], workers: [4] }],
  ])("is that of each, of which the driver is started once, with %s", (_, more) => {
    const [one, two] = [estimateOf([0], more), estimateOf([0, 1], more)];
    expect(one.startNs).toBe(320e6 + 100e6 + 50e6);
    expect(two.startNs).toBe(one.startNs + 50e6);
    expect(two.setUpNs - two.startNs).toBeCloseTo(2 * (one.setUpNs - one.startNs), -1);
    expect(closingNs(two)).toBeCloseTo(2 * closingNs(one), -1);
    expect(two.workersStartNs).toBe(one.workersStartNs);
    expect(two.measuringNs).toBeCloseTo(2 * one.measuringNs, -1);
  });

  it("has all of their memory given back at the end", () => {
    // 128 MiB that are pinned, with 7 GB/s.
    const [one, two] = [[0], [0, 1]].map((devices) =>
      closingNs(estimateOf(devices, { sizesBytes: [64 * MiB] })),
    );
    expect(one).toBeCloseTo((128 * MiB) / 7, -1);
    expect(two).toBeCloseTo((2 * 128 * MiB) / 7, -1);
  });

  it("that run the same load has it started on each of them", () => {
    const starts = (devices: readonly number[], besides: readonly ("none" | "compute" | "memory")[]) =>
      planOf({ ...request, devices, besides, samplesPerCell: 6 }, both).estimate.firstSamplesNs;
    const one = starts([0], ["compute"]);
    expect(starts([0, 1], ["compute"])).toBeCloseTo(2 * one, -1);
    const withoutLoad = starts([0], ["none"]);
    expect(starts([0], ["compute", "memory"]) - withoutLoad).toBeCloseTo(2 * (one - withoutLoad), -1);
  });
});

describe("the memory of two devices", () => {
  it("is taken one after the other, or at the same time if they copy together", () => {
    const needOf = (given: object) => planOf({ ...request, ...given }, both).estimate;
    const [one, after, together] = [
      needOf({ devices: [0] }),
      needOf({ devices: [0, 1] }),
      needOf({ devices: [0, 1], together: true }),
    ];
    expect(after).toMatchObject({
      ...{ devicesAtOnce: 1, hostBytes: one.hostBytes, pinnedBytes: one.pinnedBytes },
      deviceBytes: one.deviceBytes,
    });
    expect(together).toMatchObject({
      ...{ devicesAtOnce: 2, hostBytes: 2 * one.hostBytes, pinnedBytes: 2 * one.pinnedBytes },
      deviceBytes: one.deviceBytes,
    });
  });

  it("is host memory on emulated devices, of all that are open at once", () => {
    const given = { ...request, sizesBytes: [256 * MiB], devices: [0, 1], maxPinnedBytes: 64 * GiB };
    const fits = (together: boolean, memoryAvailableBytes: number) =>
      planOf({ ...given, together }, { ...both, emulated: true, memoryAvailableBytes });
    // Two buffers of 256 MiB on the host and as many on the device, of each device that is open.
    const { hostBytes, deviceBytes } = fits(false, 128 * GiB).estimate;
    expect([hostBytes, deviceBytes]).toEqual([512 * MiB, 512 * MiB]);
    expect(() => fits(false, 1.3 * GiB)).not.toThrow();
    expect(() => fits(true, 2.6 * GiB)).not.toThrow();
    expect(errorOf(() => fits(true, 2.4 * GiB)).message).toMatch(
      /^The plan does not fit.* would take 2 GiB of host/,
    );
  });

  it("is held against each device's own: the second may have less", () => {
    const small = { ...second, name: "a small one", totalMemoryBytes: 2 * MiB, freeMemoryBytes: 2 * MiB };
    const error = errorOf(() => planOf({ ...request, devices: [0, 1] }, { devices: [h200, small] }));
    expect(error.message).toContain("of the memory of device 1 (a small one), above 90 % of its 2 MiB");
  });
});

describe("a load beside copies", () => {
  it("leaves its CPUs to the cell of the most threads, wherever it stands", () => {
    const threads = (more: object) => planOf({ ...request, besides: ["host"], ...more }).hostLoad.copyThreads;
    expect(threads({ workers: [1, 4, 2] })).toBe(4);
    expect(threads({ workers: [2], directions: ["h2d", "bidir"] })).toBe(4);
  });

  it("takes eight times the largest cache of all devices, of each of them", () => {
    const larger = { ...second, l2CacheBytes: 2 * h200.l2CacheBytes };
    const bytes = (besides: readonly ("none" | "memory")[]) =>
      planOf({ ...request, devices: [0, 1], besides }, { devices: [h200, larger] }).estimate.deviceBytes;
    expect(bytes(["memory"]) - bytes(["none"])).toBe(8 * 2 * h200.l2CacheBytes);
  });
});

describe("worker processes", () => {
  it("start as many at a time as there are CPUs, and take host memory each", () => {
    const estimateOf = (workers: number, cpusUsable = 4) =>
      planOf({ ...request, workers: [workers], workerKinds: ["process"] }, { cpusUsable }).estimate;
    // What grows with a process beside turns of 150 ms: a context of 120 ms, which the driver starts in 100 ms.
    const turnsNs = (workers: number, cpusUsable?: number) => {
      const { workersStartNs, pinnedBytes } = estimateOf(workers, cpusUsable);
      const reservingNs = (pinnedBytes / 3.4 + pinnedBytes / 100) / Math.min(workers, cpusUsable ?? 4);
      return workersStartNs - workers * 220e6 - reservingNs;
    };
    expect([turnsNs(4), turnsNs(5), turnsNs(8), turnsNs(9)].map((ns) => Math.round(ns / 150e6))).toEqual([
      1, 2, 2, 3,
    ]);
    const hostBytes = (workers: number) => estimateOf(workers).hostBytes - estimateOf(workers).pinnedBytes;
    expect(hostBytes(4)).toBe(4 * 256 * MiB);
  });
});
