import { expect, it } from "vitest";
import type { PoolSample } from "../../src/pin/pool-bench.js";
import { PoolObservations } from "../../src/pin/pool-observations.js";

const GB = 1e9;
const memory = (pinnedBytes: number) => ({ residentBytes: 0, pinnedBytes, lockedBytes: 0 });
const sample = (seconds: number, rate: number, pinnedBytes: number): PoolSample => ({
  obtainNs: seconds * 1e9,
  touchNs: seconds * 0.7e9,
  registerNs: seconds * 0.3e9,
  releaseNs: seconds * 0.1e9,
  // A copy takes 1 s at 1 GB/s.
  h2dNs: [1e9 / rate, 0.5e9 / rate],
  d2hNs: [2e9 / rate],
  copyBytes: GB,
  copyError: null,
  hugePageShare: pinnedBytes / 10,
  pagesOfNode: [{ node: 1, pages: pinnedBytes }],
  memory: { before: memory(0), held: memory(pinnedBytes), after: memory(0) },
});
const shape = { way: "register-huge", threads: 4 } as const;

it("a measured pool records the median and range of its times and rates, and its last memory", () => {
  const pool = new PoolObservations(16 * GB, shape);
  pool.samples.push(sample(3, 10, 4), sample(1, 20, 5), sample(2, 40, 6));
  pool.reason = "an earlier attempt failed";
  pool.error = { code: "A", message: "b" };
  expect(pool).toMatchObject({ id: "register-huge/threads-4", isMeasured: true, obtainNs: 2e9 });
  expect(pool.record()).toEqual({
    ...shape,
    sizeBytes: 16 * GB,
    outcome: "measured",
    reason: null,
    error: null,
    samples: [3, 1, 2].map((seconds) => ({
      obtainNs: seconds * 1e9,
      touchNs: seconds * 0.7e9,
      registerNs: seconds * 0.3e9,
      releaseNs: seconds * 0.1e9,
    })),
    obtain: { median: 2e9, least: 1e9, most: 3e9 },
    release: { median: 0.2e9, least: 0.1e9, most: expect.closeTo(0.3e9) },
    h2dGigabytesPerSecond: { median: 30, least: 10, most: 80 },
    d2hGigabytesPerSecond: { median: 10, least: 5, most: 20 },
    memory: { before: memory(0), held: memory(6), after: memory(0) },
    hugePageShare: 0.6,
    pagesOfNode: [{ node: 1, pages: 6 }],
  });
});

it("a pool that was not measured has a reason instead of figures", () => {
  const pool = new PoolObservations(16 * GB, shape);
  expect(pool).toMatchObject({ samples: [], isMeasured: false, obtainNs: Number.POSITIVE_INFINITY });
  pool.reason = "no time was left";
  const nothing = {
    obtain: null,
    release: null,
    h2dGigabytesPerSecond: null,
    memory: null,
    hugePageShare: null,
  };
  expect(pool.record()).toMatchObject({
    outcome: "omitted",
    reason: "no time was left",
    samples: [],
    ...nothing,
  });
  pool.error = { code: "CUDA_ERROR_OUT_OF_MEMORY", message: "none" };
  expect(pool.record()).toMatchObject({ outcome: "refused", error: pool.error, reason: "no time was left" });
});
