import { describe, expect, it } from "vitest";
import { cellTime } from "../../src/plan/duration.js";
import { loadLimits } from "../../src/plan/limits.js";
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

  it.each([
    ["pinned", 7],
    ["write-combined", 7],
    ["registered", 20],
    ["pageable", 20],
  ])("has all of their %s memory given back at the end, with %d GB/s", (memory, GBps) => {
    const [one, two] = [[0], [0, 1]].map((devices) =>
      closingNs(estimateOf(devices, { sizesBytes: [64 * MiB], memory: [memory] })),
    );
    expect(one).toBeCloseTo((128 * MiB) / GBps, -1);
    expect(two).toBeCloseTo((2 * 128 * MiB) / GBps, -1);
  });

  it("has both ends of what a device copies by itself reserved", () => {
    const own = { memory: ["device"], directions: ["d2d"], sizesBytes: [64 * MiB] };
    const { setUpNs, startNs } = estimateOf([0], own);
    // A context in 120 ms, and twice two buffers with 100 GB/s.
    expect(setUpNs - startNs).toBeCloseTo(120e6 + (2 * 128 * MiB) / 100, -1);
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
});

describe("a load beside copies", () => {
  it("leaves its CPUs to the cell of the most threads, wherever it stands", () => {
    const threads = (more: object) => planOf({ ...request, besides: ["host"], ...more }).hostLoad.copyThreads;
    expect(threads({ workers: [1, 4, 2] })).toBe(4);
    expect(threads({ workers: [2], directions: ["h2d", "bidir"] })).toBe(4);
  });

  it("has the CPUs that no copy needs, but one at least", () => {
    expect(loadLimits({ copyThreads: 3, hostBytes: 5 }, 8)).toEqual({ hostThreads: 5, hostBytes: 5 });
    expect(loadLimits({ copyThreads: 8, hostBytes: 5 }, 8)).toEqual({ hostThreads: 1, hostBytes: 5 });
  });

  const bytesOf = (beside: "none" | "memory" | "host", changes: object = both) =>
    planOf({ ...request, devices: [0, 1], besides: [beside] }, changes).estimate;

  it("takes eight times the largest cache of all devices, of each of them, but 64 MiB at least", () => {
    const taken = (l2CacheBytes: number) => {
      const devices = [h200, second].map((device, i) => ({
        ...device,
        l2CacheBytes: (i + 1) * l2CacheBytes,
      }));
      return bytesOf("memory", { devices }).deviceBytes - bytesOf("none", { devices }).deviceBytes;
    };
    expect(taken(h200.l2CacheBytes)).toBe(8 * 2 * h200.l2CacheBytes);
    expect(taken(MiB)).toBe(64 * MiB);
  });

  it("takes four times the host's last cache, which counts as host memory", () => {
    expect(bytesOf("host").hostBytes - bytesOf("none").hostBytes).toBe(4 * 64 * MiB);
    expect(bytesOf("host").deviceBytes).toBe(bytesOf("none").deviceBytes);
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
    const ofBoth = planOf({ ...request, workers: [4], workerKinds: ["process"], together: true }, both);
    expect(ofBoth.estimate.hostBytes).toBe(2 * estimateOf(4).hostBytes);
  });
});
