import { describe, expect, it } from "vitest";
import { loadLimits } from "../../src/plan/limits.js";
import { errorOf, GiB, h200, MiB, planOf } from "./support.js";

/* Numbers of bytes that follow from the settings alone. */

const second = { ...h200, ordinal: 1 };
const both = { devices: [h200, second] };
const request = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;

describe("the memory of two devices", () => {
  it("is taken from the host on emulated devices, for all that are open at once", () => {
    const given = { ...request, sizesBytes: [256 * MiB], devices: [0, 1], maxPinnedBytes: 64 * GiB };
    const fits = (together: boolean, memoryAvailableBytes: number) =>
      planOf({ ...given, together }, { ...both, emulated: true, memoryAvailableBytes });
    // Two buffers of 256 MiB on the host and as many on the device, of each device that is open.
    const { hostBytes, deviceBytes } = fits(false, 128 * GiB).need;
    expect([hostBytes, deviceBytes]).toEqual([512 * MiB, 512 * MiB]);
    expect(() => fits(false, 1.3 * GiB)).not.toThrow();
    expect(() => fits(true, 2.6 * GiB)).not.toThrow();
    expect(errorOf(() => fits(true, 2.4 * GiB)).message).toMatch(
      /^The plan does not fit.* would take 2 GiB of host/,
    );
  });
});

describe("a load beside copies", () => {
  it("leaves free the CPUs that the cell with the most threads needs", () => {
    const threads = (more: object) => planOf({ ...request, besides: ["host"], ...more }).hostLoad.copyThreads;
    expect(threads({ workers: [1, 4, 2] })).toBe(4);
    expect(threads({ workers: [2], directions: ["h2d", "bidir"] })).toBe(4);
  });

  it("uses the CPUs that no copy needs, and at least one", () => {
    expect(loadLimits({ copyThreads: 3, hostBytes: 5 }, 8)).toEqual({ hostThreads: 5, hostBytes: 5 });
    expect(loadLimits({ copyThreads: 8, hostBytes: 5 }, 8)).toEqual({ hostThreads: 1, hostBytes: 5 });
  });

  const bytesOf = (beside: "none" | "memory" | "host", changes: object = both) =>
    planOf({ ...request, devices: [0, 1], besides: [beside] }, changes).need;

  it("takes eight times the devices' largest cache on each device, and at least 64 MiB", () => {
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
  it("take host memory each, for each device that is open at once", () => {
    const hostBytes = (workers: number, together: boolean) => {
      const given = { ...request, workers: [workers], workerKinds: ["process"], together } as const;
      const { need } = planOf(given, both);
      return need.hostBytes - need.pinnedBytes;
    };
    expect([hostBytes(4, false), hostBytes(7, false)]).toEqual([4 * 256 * MiB, 7 * 256 * MiB]);
    expect(hostBytes(4, true)).toBe(2 * 4 * 256 * MiB);
  });
});
