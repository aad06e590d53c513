import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { NativeError } from "../../src/native/contract.js";
import type { PoolOptions } from "../../src/native/loader-contract.js";
import { shapeId } from "../../src/pin/pool-shapes.js";
import { nativeError, stopTheClock } from "../measure/support.js";
import { FakeDevice, GiB, isWarmUp, MiB, measuredPools, measurement, refusing, times } from "./fake-pools.js";

beforeEach(stopTheClock);
afterEach(() => vi.useRealTimers());

describe("what is measured in the time there is", () => {
  it("is all of it once, what is cheap and what may be the best more often, the others not", async () => {
    const device = new FakeDevice();
    const found = await measuredPools(device, { sizesBytes: [GiB / 4, GiB, 16 * GiB] });
    expect(Object.values(times(found, GiB / 4))).toEqual(Array(8).fill(5));
    expect(times(found, 16 * GiB)).toMatchObject({
      "host-alloc/pieces-1/threads-1": 1,
      "register/pieces-1/threads-1": 1,
      "register-huge/pieces-1/threads-16": 3,
      "register-huge/pieces-16/threads-16": 3,
    });
    expect(found.error).toBeNull();
    expect(device).toMatchObject({ held: 0, isClosed: true });
  });

  it("leaves out what would take longer than there is, which the smaller size has told", async () => {
    const found = await measuredPools(new FakeDevice(), { sizesBytes: [GiB, 16 * GiB], budgetMs: 15_000 });
    const reasonOf = (id: string) =>
      found.pools.find((pool) => pool.sizeBytes === 16 * GiB && pool.id === id)?.record();
    expect(reasonOf("register-huge/pieces-1/threads-16")).toMatchObject({ outcome: "measured" });
    expect(reasonOf("host-alloc/pieces-1/threads-1")).toMatchObject({
      outcome: "omitted",
      reason: expect.stringMatching(/^it would take about 7\.84 s, and .* left$/),
    });
  });

  it("goes by the largest of several smaller sizes, which may take longer than in proportion", async () => {
    const device = new FakeDevice();
    device.beforeObtain = ({ bytes }) => {
      if (bytes === 2 * GiB) vi.advanceTimersByTime(5000);
    };
    const found = await measuredPools(device, { sizesBytes: [GiB, 2 * GiB, 4 * GiB], budgetMs: 50_000 });
    for (const pool of found.pools.filter(({ sizeBytes }) => sizeBytes === 4 * GiB)) {
      expect(pool.record().reason, pool.id).toMatch(
        /^it would take about 1\d(\.\d+)? s, and 4\.\d+ s was left$/,
      );
    }
  });

  it("goes to and fro over what is measured again", async () => {
    const device = new FakeDevice();
    const found = await measuredPools(device);
    const order = device.asked.filter((options) => !isWarmUp(options)).map((options) => shapeId(options));
    const ids = found.pools.map(({ id }) => id);
    const back = ids.toReversed();
    expect(order).toEqual([...ids, ...back, ...ids, ...back, ...ids]);
  });

  it("begins with the quick ones if the smaller size has told which these are", async () => {
    const device = new FakeDevice();
    await measurement(device, { sizesBytes: [GiB, 8 * GiB] }).measure();
    const first = device.asked.find(({ bytes }) => bytes === 8 * GiB);
    expect(first).toMatchObject({ way: "register-huge", pieces: 16 });
  });

  it("is the largest size again before the smaller ones", async () => {
    const device = new FakeDevice();
    await measurement(device, { sizesBytes: [GiB, 4 * GiB] }).measure();
    const order = device.asked.filter((options) => !isWarmUp(options)).map(({ bytes }) => bytes);
    const [once, again, last] = [order.slice(0, 16), order.slice(16, 24), order.at(-1)];
    expect([new Set(once).size, new Set(again), last]).toEqual([2, new Set([4 * GiB]), GiB]);
  });

  it("is what is quick, of large pools too, if nothing smaller was asked for", async () => {
    const device = new FakeDevice();
    const found = await measuredPools(device, { sizesBytes: [16 * GiB], budgetMs: 12_000 });
    const outcomes = Object.fromEntries(found.pools.map((pool) => [pool.id, pool.record().outcome]));
    expect(outcomes).toMatchObject({
      "register-huge/pieces-1/threads-16": "measured",
      "register-huge/pieces-16/threads-16": "measured",
      "host-alloc/pieces-1/threads-1": "omitted",
    });
    expect(found.pools.map(({ sizeBytes }) => sizeBytes)).toEqual(Array(8).fill(16 * GiB));
    expect(device.held).toBe(0);
  });

  it("is what may be the best once more, if half of the time that is left is enough for it at its slowest", async () => {
    const quick = ({ way, threads }: PoolOptions) => way === "register-huge" && threads === 16;
    const timesIn = async (budgetMs: number, slower = 1) => {
      const device = new FakeDevice();
      device.beforeObtain = (options) => {
        if (quick(options) && device.asked.filter(quick).length === 4) device.costs = slowed(slower);
      };
      const found = await measuredPools(device, { budgetMs });
      return Object.values(times(found, GiB)).slice(-2);
    };
    const slowed = (by: number) => ({
      ...{ "register-huge 1 16": 0.0375 * by, "register-huge 16 16": 0.034 * by },
    });
    // Once each takes 1.72 s, and those that may be the best 72 ms of that.
    expect(await timesIn(1830)).toEqual([1, 1]);
    expect(await timesIn(1880)).toEqual([2, 2]);
    expect(await timesIn(3000)).toEqual([3, 3]);
    expect(await timesIn(3000, 10)).toEqual([2, 2]);
  });

  it("is nothing if there is no time, but that is said of each", async () => {
    const device = new FakeDevice();
    const found = await measuredPools(device, { budgetMs: 0 });
    expect(device.asked.filter((options) => !isWarmUp(options))).toEqual([]);
    expect(found.pools.map(({ reason }) => reason)).toEqual(Array(8).fill("no time was left"));
    const late = await measuredPools(device, { sizesBytes: [GiB, 4 * GiB], budgetMs: 450 });
    expect(late.pools.find(({ sizeBytes }) => sizeBytes === 4 * GiB)!.reason).toBe(
      "it would take about 1.96 s, and no time was left",
    );
  });
});

it("copies have a rate for each direction, and memory is that of the process in bytes", async () => {
  const root = await mkdtemp(join(tmpdir(), "pinbench-"));
  await mkdir(join(root, "proc/self"), { recursive: true });
  const status = "VmLck:\t       3 kB\nVmPin:\t       5 kB\nVmRSS:\t      70 kB\n";
  await writeFile(join(root, "proc/self/status"), status);
  const found = await measuredPools(new FakeDevice(), { root });
  await rm(root, { recursive: true });
  expect(found.pools[0]!.record()).toMatchObject({
    h2dGigabytesPerSecond: { median: 50 },
    d2hGigabytesPerSecond: { median: 40 },
    memory: { held: { residentBytes: 70 * 1024, pinnedBytes: 5 * 1024, lockedBytes: 3 * 1024 } },
  });
});

it.each([0.75, 0])("a pool has its %d of huge pages, and what the kernel did for it alone", async (share) => {
  const root = await mkdtemp(join(tmpdir(), "pinbench-"));
  await mkdir(join(root, "proc"));
  let stalls = 70;
  const device = new FakeDevice();
  device.hugePageShare = share;
  device.beforeObtain = () => {
    stalls += 3;
    const events = `compact_stall ${stalls}\nthp_fault_alloc ${100 * stalls}\nthp_fault_fallback 5\n`;
    writeFileSync(join(root, "proc/vmstat"), events);
  };
  const found = await measuredPools(device, { root });
  await rm(root, { recursive: true });
  const pageEvents = { compactionStalls: 3, hugePages: 300, hugePagesRefused: 0 };
  for (const pool of found.pools) {
    const { hugePageShare, samples } = pool.record();
    expect({ hugePageShare, first: samples[0] }).toMatchObject({
      hugePageShare: share,
      first: { pageEvents },
    });
  }
});

it("the times of touching and of registering are told of all pools but those of one call", async () => {
  const found = await measuredPools(new FakeDevice());
  for (const pool of found.pools) {
    const isOneCall = pool.shape.way === "host-alloc";
    const { obtainNs, touchNs, registerNs } = pool.record().samples[0]!;
    const half = isOneCall ? null : obtainNs / 2;
    expect([pool.id, touchNs, registerNs]).toEqual([pool.id, half, half]);
    // Nor is it taken for none that the system does not tell of huge pages.
    expect(pool.record().hugePageShare).toBeNull();
  }
});

describe("what is refused", () => {
  it("has its limit looked for, in one piece and in several", async () => {
    const device = refusing(
      ({ way, bytes, pieces }) => way === "host-alloc" && bytes / pieces > 100 * MiB,
      "CUDA_ERROR_OUT_OF_MEMORY",
    );
    const found = await measuredPools(device, { sizesBytes: [2 * GiB] });
    expect(found.limits).toMatchObject([
      { way: "host-alloc", pieces: 1, refusedBytes: 104 * MiB, error: { code: "CUDA_ERROR_OUT_OF_MEMORY" } },
      { way: "host-alloc", pieces: 16, refusedBytes: 1632 * MiB },
    ]);
    const [one, several] = found.limits;
    expect(one!.largestBytes).toBeGreaterThan(95 * MiB);
    expect(one!.largestBytes).toBeLessThanOrEqual(100 * MiB);
    expect(several!.largestBytes).toBeGreaterThan(15 * 100 * MiB);
    expect(several!.largestBytes).toBeLessThanOrEqual(16 * 100 * MiB);
    expect(device.held).toBe(0);
  });

  it("is not asked for again, however it is obtained, nor with more", async () => {
    const device = refusing(({ way }) => way === "register", "CUDA_ERROR_NOT_SUPPORTED");
    const found = await measuredPools(device, { sizesBytes: [GiB, 2 * GiB] });
    expect(found.limits.map(({ largestBytes, pieces }) => [pieces, largestBytes])).toEqual([
      [1, 0],
      [16, 0],
    ]);
    const tried = device.asked.filter(({ bytes }) => bytes === 2 * GiB).map(({ way }) => way);
    expect(new Set(tried)).toEqual(new Set(["host-alloc", "register-huge"]));
    const larger = found.pools.filter(
      ({ shape, sizeBytes }) => shape.way === "register" && sizeBytes === 2 * GiB,
    );
    expect(larger.map((pool) => pool.record())).toMatchObject(
      Array(3).fill({ outcome: "omitted", reason: "1 GiB was refused" }),
    );
  });

  it("after it was measured is asked for once more at most, and keeps its figures", async () => {
    const device = new FakeDevice();
    const isOne = ({ way, pieces, bytes }: PoolOptions) =>
      way === "host-alloc" && pieces === 1 && bytes === GiB;
    device.beforeObtain = () => {
      if (isOne(device.asked.at(-1)!) && device.asked.filter(isOne).length > 1)
        throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const found = await measuredPools(device);
    expect(device.asked.filter(isOne)).toHaveLength(2);
    expect(found.pools[0]!.record()).toMatchObject({ outcome: "measured", samples: [{}], error: null });
    expect(found.omitted).toEqual([expect.stringMatching(/^1 GiB by host-alloc.* once more: /)]);
    expect(found.limits).toEqual([]);
  });

  it("for want of huge pages says how root reserves them, and has no limit of its size", async () => {
    const device = refusing(({ way }) => way === "register-huge", "NO_HUGE_PAGES");
    const found = await measuredPools(device);
    expect(found.pools.at(-1)!.record()).toMatchObject({
      outcome: "refused",
      reason: expect.stringContaining(
        "512 for each GiB, to /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
      ),
    });
    expect(found.limits).toEqual([]);
  });

  it("has no limit looked for when the time is over", async () => {
    const device = new FakeDevice();
    let refusals = 0;
    device.beforeObtain = (options) => {
      if (isWarmUp(options) || options.way !== "host-alloc") return;
      vi.advanceTimersByTime(5000);
      ++refusals;
      throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const found = await measuredPools(device, { budgetMs: 4000 });
    expect({ refusals, limits: found.limits }).toEqual({ refusals: 1, limits: [] });
    expect(found.pools[0]!.record()).toMatchObject({ outcome: "refused" });
  });

  it("has amounts tried for its limit only if there is time for them", async () => {
    const device = refusing(({ bytes }) => bytes === 4 * GiB, "CUDA_ERROR_OUT_OF_MEMORY");
    // Two GiB by cuMemHostAlloc would take a second.
    const found = await measuredPools(device, { sizesBytes: [4 * GiB], budgetMs: 900 });
    expect(found.limits[0]).toMatchObject({
      way: "host-alloc",
      largestBytes: 2 * MiB,
      refusedBytes: 4 * GiB,
    });
  });

  it("where others of its size were had has a limit below it", async () => {
    const device = new FakeDevice();
    device.beforeObtain = ({ way, pieces, threads, bytes }) => {
      const isRefused = way === "register" && pieces === 1 && threads > 1 && bytes > GiB / 2;
      if (isRefused) throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const found = await measuredPools(device);
    const [limit, ...others] = found.limits;
    expect(others).toEqual([]);
    expect(limit!.largestBytes).toBeLessThanOrEqual(GiB / 2);
    expect(limit!.refusedBytes).toBeGreaterThan(GiB / 2);
  });

  it.each(["TOO_MANY_THREADS", "INVALID_REQUEST"])("by %s has no limit of its size", async (code) => {
    const device = refusing(({ threads }) => threads > 1, code);
    const found = await measuredPools(device, { sizesBytes: [GiB, 2 * GiB] });
    expect(found.limits).toEqual([]);
    const measured = found.pools.filter(({ isMeasured }) => isMeasured);
    expect(measured.map(({ sizeBytes, shape }) => [sizeBytes / GiB, shape.threads])).toEqual(
      [1, 1, 1, 2, 2, 2].map((size) => [size, 1]),
    );
  });
});

describe("a device that fails", () => {
  it("while it copies, as one whose memory is full, leaves the times as they are, and is no limit of pools", async () => {
    const device = new FakeDevice();
    device.beforeCopy = () => {
      throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const found = await measuredPools(device);
    expect(found.pools.map((pool) => pool.record())).toMatchObject(
      Array(8).fill({ outcome: "measured", h2dGigabytesPerSecond: null, d2hGigabytesPerSecond: null }),
    );
    expect(found.limits).toEqual([]);
    expect(found.omitted).toEqual([
      expect.stringMatching(/^copies of pools of 1 GiB: .*CUDA_ERROR_OUT_OF_MEMORY/),
    ]);
    expect(device.held).toBe(0);
  });

  it("and loses its context, ends all: the rest says so", async () => {
    const device = refusing(({ way }) => way === "register", "CUDA_ERROR_LAUNCH_FAILED", true);
    const found = measurement(device);
    device.beforeObtain = (options) => {
      if (options.way === "register" && !isWarmUp(options))
        throw nativeError("CUDA_ERROR_LAUNCH_FAILED", true);
    };
    await found.measure();
    expect(found.error).toMatchObject({ code: "CUDA_ERROR_LAUNCH_FAILED" });
    expect(found.pools.map((pool) => pool.record().outcome)).toEqual([
      "measured",
      "measured",
      ...Array(6).fill("omitted"),
    ]);
    expect(found.pools[2]!.reason).toMatch(/^the device failed: /);
    expect(found.pools.at(-1)!.reason).toBe("the device had failed before");
    expect(device.isClosed).toBe(true);
  });

  it("while it copies, and loses its context, ends all as well, and is given back", async () => {
    const device = new FakeDevice();
    device.beforeCopy = () => {
      throw nativeError("CUDA_ERROR_LAUNCH_FAILED", true);
    };
    const found = await measuredPools(device);
    expect(found.error).toMatchObject({ code: "CUDA_ERROR_LAUNCH_FAILED" });
    expect(device).toMatchObject({ held: 0, isClosed: true });
  });

  it("is not reported as a fault of the program", async () => {
    const device = new FakeDevice();
    device.beforeObtain = () => {
      throw new RangeError("a fault");
    };
    await expect(measurement(device).measure()).rejects.toThrow("a fault");
    expect(device.isClosed).toBe(true);
  });
});

it("an abort ends it with what it has, and reaches the session", async () => {
  const device = new FakeDevice();
  const controller = new AbortController();
  const found = measurement(device, { signal: controller.signal });
  let measured = 0;
  device.beforeObtain = (options) => {
    if (isWarmUp(options) || ++measured === 1) return;
    if (measured === 2) throw nativeError("TOO_MANY_THREADS");
    if (measured < 5) return;
    controller.abort();
    throw nativeError("ABORTED") satisfies NativeError;
  };
  await found.measure();
  expect(device).toMatchObject({ isAborted: true, isClosed: true, held: 0 });
  expect(found.pools.filter(({ isMeasured }) => isMeasured)).toHaveLength(3);
  expect(found.pools.at(-1)!.record()).toMatchObject({ outcome: "omitted", reason: "interrupted before" });
  expect(found.pools[1]!.record().reason).toContain("TOO_MANY_THREADS");
  expect(found.error).toBeNull();
});
