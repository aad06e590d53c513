import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PoolOptions } from "../../src/native/loader-contract.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { nativeError, stopTheClock } from "../measure/support.js";
import { FakeDevice, GiB, isWarmUp, measuredPools, times } from "./fake-pools.js";

/* The machine's memory and that of the process. */

beforeEach(stopTheClock);
afterEach(() => vi.useRealTimers());

const meminfo = (bytes: number) => `MemTotal: 99999999 kB\nMemAvailable: ${Math.floor(bytes / 1024)} kB`;

/** A machine with so much available memory, which may change. */
function machineWith(bytes: number) {
  const root = fixtureRoot({ "proc/meminfo": meminfo(bytes) });
  return { root, has: (now: number) => writeFileSync(join(root, "proc/meminfo"), meminfo(now)) };
}

const isOne = ({ way, pieces, bytes }: PoolOptions) =>
  way === "host-alloc" && pieces === 1 && bytes === 4 * GiB;

describe("a pool takes nine tenths of the available memory at most:", () => {
  it("a larger one is not tried, which is said", async () => {
    const { root } = machineWith(4.4 * GiB);
    const found = await measuredPools(new FakeDevice(), { sizesBytes: [3 * GiB, 4 * GiB], root });
    const reasons = (sizeBytes: number) =>
      new Set(found.pools.filter((pool) => pool.sizeBytes === sizeBytes).map((pool) => pool.record().reason));
    expect(reasons(3 * GiB)).toEqual(new Set([null]));
    expect(reasons(4 * GiB)).toEqual(new Set(["only 4.39 GiB of memory was available"]));
  });

  it("one that was measured is not obtained again, nor while another process is watched", async () => {
    const { root, has } = machineWith(16 * GiB);
    const device = new FakeDevice();
    const watch = async () => {
      has(2 * GiB);
    };
    const openNeighbour = async () => ({ watch, endWatch: async () => ({}), close: async () => undefined });
    const found = await measuredPools(device, { sizesBytes: [GiB, 4 * GiB], root, openNeighbour });
    expect(device.asked.filter(isOne)).toHaveLength(1);
    expect(new Set(Object.values(times(found, 4 * GiB)))).toEqual(new Set([1]));
    expect(new Set(Object.values(times(found, GiB)))).toEqual(new Set([5]));
    const tooLittle = "only 2 GiB of memory was available";
    expect(found.omitted).toContain(`how long another process waits for some pools of 4 GiB: ${tooLittle}`);
    expect(found.omitted).toContain(`4 GiB by host-alloc/pieces-1/threads-1 once more: ${tooLittle}`);
    expect(found.pools.every((pool) => pool.record().reason === null)).toBe(true);
  });
});

it("the memory of a process is that before a pool, while it is held, and after it was given back", async () => {
  const root = fixtureRoot({ "proc/self/status": "VmRSS:\t10 kB" });
  const becomes = (kB: number) => writeFileSync(join(root, "proc/self/status"), `VmRSS:\t${kB} kB\n`);
  const device = new FakeDevice();
  device.beforeObtain = (options) => {
    if (!isWarmUp(options)) becomes(20);
  };
  device.beforeCopy = () => becomes(30);
  const found = await measuredPools(device, { root });
  const { before, held, after } = found.pools[0]!.samples[0]!.memory;
  expect([before, held, after].map(({ residentBytes }) => residentBytes! / 1024)).toEqual([10, 20, 30]);
});

describe("copies over a pool that end early", () => {
  it("by a failure in one direction keep the rates of the other", async () => {
    const device = new FakeDevice();
    device.beforeCopy = (direction) => {
      if (direction === "d2h") throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const found = await measuredPools(device);
    expect(found.pools[0]!.record()).toMatchObject({
      ...{ h2dGigabytesPerSecond: { median: 50 }, d2hGigabytesPerSecond: null },
    });
  });

  it("by an abort are no failure, and the pool was not measured", async () => {
    const device = new FakeDevice();
    const end = new AbortController();
    device.beforeCopy = () => {
      end.abort();
      throw nativeError("ABORTED");
    };
    const found = await measuredPools(device, { signal: end.signal });
    expect(found).toMatchObject({ error: null, omitted: [] });
    expect(found.pools[0]!.record()).toMatchObject({ outcome: "omitted", reason: "interrupted before" });
    expect(device.held).toBe(0);
  });
});
