import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PoolOptions } from "../../src/native/loader-contract.js";
import { shapeId } from "../../src/pin/pool-shapes.js";
import { nativeError, stopTheClock } from "../measure/support.js";
import { FakeDevice, GiB, isWarmUp, MiB, measuredPools, measurement, refusing } from "./fake-pools.js";

/* What is obtained before the first pool that counts. */

beforeEach(stopTheClock);
afterEach(() => vi.useRealTimers());

const isScout = (options: PoolOptions) => options.bytes === GiB;

it("each way is warmed up, by as many threads as it may use; the driver's own by one", async () => {
  const device = new FakeDevice();
  await measurement(device).measure();
  expect(device.asked.filter(isWarmUp).map(({ way, threads }) => [way, threads])).toEqual([
    ["host-alloc", 1],
    ["register", 16],
    ["register-huge", 16],
    ["register-hugetlb", 16],
  ]);
});

it("a way that cannot be warmed up is measured all the same, unless the context is lost", async () => {
  const outcomesIf = async (isSticky: boolean) => {
    const device = refusing((options) => isWarmUp(options), "CUDA_ERROR_LAUNCH_FAILED", isSticky);
    const found = await measuredPools(device);
    return {
      error: found.error?.code ?? null,
      outcomes: new Set(found.pools.map((pool) => pool.record().outcome)),
    };
  };
  expect(await outcomesIf(false)).toEqual({ error: null, outcomes: new Set(["measured"]) });
  expect(await outcomesIf(true)).toEqual({
    ...{ error: "CUDA_ERROR_LAUNCH_FAILED", outcomes: new Set(["omitted"]) },
  });
});

it("nothing is obtained if it is aborted while the device is opened", async () => {
  const device = new FakeDevice();
  const found = await measuredPools(device, { signal: AbortSignal.abort() });
  expect(device).toMatchObject({ asked: [], isClosed: true });
  expect(new Set(found.pools.map(({ reason }) => reason))).toEqual(new Set(["interrupted before"]));
});

describe("before large pools, a pool of 1 GiB", () => {
  it("is obtained once in each way of the smallest size, if that has more than 4 GiB", async () => {
    const scoutsFor = async (...sizesBytes: number[]) => {
      const device = new FakeDevice();
      const found = await measuredPools(device, { sizesBytes, budgetMs: 1e6 });
      const ids = found.pools.filter(({ sizeBytes }) => sizeBytes === sizesBytes[0]).map(({ id }) => id);
      return { ids, scouts: device.asked.filter(isScout).map((options) => shapeId(options)) };
    };
    const { ids, scouts } = await scoutsFor(4 * GiB + 2 * MiB, 8 * GiB);
    expect(scouts).toEqual(ids);
    expect((await scoutsFor(4 * GiB, 8 * GiB)).scouts).toEqual([]);
  });

  it("that is refused ends nothing, unless the context is lost", async () => {
    const found = async (code: string, isSticky: boolean) => {
      const device = refusing((options) => isScout(options) && options.threads > 1, code, isSticky);
      const measured = await measuredPools(device, { sizesBytes: [8 * GiB] });
      return {
        ...{ error: measured.error?.code ?? null, limits: measured.limits.length },
        measured: measured.pools.filter(({ isMeasured }) => isMeasured).length,
      };
    };
    expect(await found("TOO_MANY_THREADS", false)).toEqual({ error: null, limits: 0, measured: 8 });
    expect(await found("CUDA_ERROR_OUT_OF_MEMORY", false)).toEqual({ error: null, limits: 0, measured: 8 });
    expect(await found("CUDA_ERROR_LAUNCH_FAILED", true)).toEqual({
      ...{ error: "CUDA_ERROR_LAUNCH_FAILED", limits: 0, measured: 0 },
    });
  });

  it("is obtained in no further way once the time is over", async () => {
    const device = new FakeDevice();
    await measurement(device, { sizesBytes: [8 * GiB], budgetMs: 600 }).measure();
    // The first takes 490 ms, and the second is under way then.
    expect(device.asked.filter(isScout)).toHaveLength(2);
  });
});

it("what is done is said with its size, and with the time that is left, in nanoseconds", async () => {
  const said: [string, number][] = [];
  const onActivity = (text: string, leftNs: number) => said.push([text, Math.round(leftNs / 1e6)]);
  const device = new FakeDevice();
  device.costs = { "host-alloc 1 1": 1 };
  await measurement(device, { sizesBytes: [8 * GiB], budgetMs: 1500, onActivity }).measure();
  expect(said[0]).toEqual(["opening the device", 1500]);
  expect(said[1]![0]).toBe("1 GiB by host-alloc/pieces-1/threads-1, to estimate how long more takes");
  const openNeighbour = () => Promise.reject(nativeError("WORKER_PROCESS_NOT_STARTED"));
  await measurement(new FakeDevice(), { budgetMs: 450, onActivity, openNeighbour }).measure();
  expect(said.at(-1)).toEqual(["starting another process, whose calls are watched", 0]);
});
