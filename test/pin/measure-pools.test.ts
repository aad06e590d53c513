import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { NativeDriver, NativeError } from "../../src/native/contract.js";
import type { NativePool, PoolOptions } from "../../src/native/loader-contract.js";
import { PoolMeasurement } from "../../src/pin/measure-pools.js";
import { shapeId } from "../../src/pin/pool-shapes.js";
import type { Neighbour } from "../../src/pin/stalls.js";
import { deviceFacts, FakeSession, nativeError, stopTheClock } from "../measure/support.js";

const MiB = 1024 ** 2;
const GiB = 1024 * MiB;

/** Seconds that a GiB takes, about as on an H200 with 16 CPUs. */
const usualCosts: Readonly<Record<string, number>> = {
  "host-alloc 1 1": 0.49,
  "host-alloc 16 16": 0.37,
  "register 1 1": 0.46,
  "register 1 16": 0.08,
  "register 16 16": 0.08,
  "register-huge 1 1": 0.16,
  "register-huge 1 16": 0.0375,
  "register-huge 16 16": 0.034,
};

/** A device whose pools take what a test says, by a clock that stands still but for them. */
class FakeDevice extends FakeSession {
  readonly asked: PoolOptions[] = [];
  held = 0;
  costs = usualCosts;
  /** Called before each; throws where it is refused. */
  beforeObtain: (options: PoolOptions) => void = () => undefined;
  beforeCopy: () => void = () => undefined;

  override async obtainPool(...[options]: unknown[]): Promise<never> {
    const { way, pieces, threads, bytes } = options as PoolOptions;
    this.asked.push(options as PoolOptions);
    if (this.isAborted) throw nativeError("ABORTED");
    this.beforeObtain(options as PoolOptions);
    const ns = ((this.costs[`${way} ${pieces} ${threads}`] ?? 0.1) * 1e9 * bytes) / GiB;
    vi.advanceTimersByTime(ns / 1e6);
    ++this.held;
    let isHeld = true;
    const pool: NativePool = {
      obtainNs: ns,
      touchNs: ns / 2,
      registerNs: ns / 2,
      hugePageBytes: null,
      pagesOfNode: [{ node: 0, pages: 16 }],
      copy: async (direction, sizeBytes, copies) => {
        this.beforeCopy();
        return Float64Array.from({ length: copies }, () => sizeBytes / (direction === "h2d" ? 50 : 40));
      },
      release: async () => {
        // A second release does nothing, as it does in the addon.
        if (isHeld) --this.held;
        isHeld = false;
        return { releaseNs: ns / 4 };
      },
    };
    return pool as never;
  }

  get driver(): NativeDriver {
    return { openSession: async () => this } as unknown as NativeDriver;
  }
}

const ways = ["host-alloc", "register", "register-huge"] as const;

function measurement(
  device: FakeDevice,
  more: {
    budgetMs?: number;
    sizesBytes?: number[];
    signal?: AbortSignal;
    openNeighbour?: () => Promise<Neighbour>;
    root?: string;
  } = {},
) {
  const { budgetMs = 60_000, sizesBytes = [GiB], signal = new AbortController().signal } = more;
  return new PoolMeasurement({
    driver: device.driver,
    device: deviceFacts,
    placement: { numaNode: null, cpus: [0], threads: 16 },
    resources: { cpusUsable: 16, hugetlbFreeBytes: 0 },
    sizesBytes,
    shapes: { ways, pieces: null, pieceSizesBytes: null, stalls: false, threads: null },
    openNeighbour: more.openNeighbour ?? null,
    root: more.root ?? "/nowhere-of-pinbench",
    endMs: performance.now() + budgetMs,
    signal,
    onActivity: () => undefined,
  });
}

const isWarmUp = ({ bytes }: PoolOptions) => bytes === 16 * MiB;
const times = (found: PoolMeasurement, sizeBytes: number) =>
  Object.fromEntries(
    found.pools.filter((pool) => pool.sizeBytes === sizeBytes).map((pool) => [pool.id, pool.samples.length]),
  );

beforeEach(stopTheClock);
afterEach(() => vi.useRealTimers());

describe("what is measured in the time there is", () => {
  it("is all of it once, what is cheap and what may be the best more often, the others not", async () => {
    const device = new FakeDevice();
    const found = measurement(device, { sizesBytes: [GiB / 4, GiB, 16 * GiB] });
    await found.measure();
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
    const found = measurement(new FakeDevice(), { sizesBytes: [GiB, 16 * GiB], budgetMs: 15_000 });
    await found.measure();
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
    const found = measurement(device, { sizesBytes: [GiB, 2 * GiB, 4 * GiB], budgetMs: 50_000 });
    await found.measure();
    for (const pool of found.pools.filter(({ sizeBytes }) => sizeBytes === 4 * GiB)) {
      expect(pool.record().reason, pool.id).toMatch(
        /^it would take about 1\d(\.\d+)? s, and 4\.\d+ s was left$/,
      );
    }
  });

  it("goes to and fro over what is measured again", async () => {
    const device = new FakeDevice();
    const found = measurement(device);
    await found.measure();
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

  it("is what is quick, of large pools too, if nothing smaller was asked for", async () => {
    const device = new FakeDevice();
    const found = measurement(device, { sizesBytes: [16 * GiB], budgetMs: 12_000 });
    await found.measure();
    const outcomes = Object.fromEntries(found.pools.map((pool) => [pool.id, pool.record().outcome]));
    expect(outcomes).toMatchObject({
      "register-huge/pieces-1/threads-16": "measured",
      "register-huge/pieces-16/threads-16": "measured",
      "host-alloc/pieces-1/threads-1": "omitted",
    });
    expect(found.pools.map(({ sizeBytes }) => sizeBytes)).toEqual(Array(8).fill(16 * GiB));
    expect(device.held).toBe(0);
  });

  it("is nothing if there is no time, but that is said of each", async () => {
    const device = new FakeDevice();
    const found = measurement(device, { budgetMs: 0 });
    await found.measure();
    expect(device.asked.filter((options) => !isWarmUp(options))).toEqual([]);
    expect(found.pools.map(({ reason }) => reason)).toEqual(Array(8).fill("no time was left"));
  });
});

/** A process whose calls are answered each millisecond, but not while a pool of this device is obtained. */
class FakeNeighbour implements Neighbour {
  isClosed = false;
  watches = 0;
  beforeWatch: () => void = () => undefined;
  #beganMs: number | null = null;

  async watch() {
    this.beforeWatch();
    ++this.watches;
    this.#beganMs = performance.now();
  }

  async endWatch() {
    const waitedNs = (performance.now() - this.#beganMs!) * 1e6;
    return {
      "memory-info": Float64Array.of(0, 1e6, 1e6 + waitedNs),
      "small-copy": Float64Array.of(0, 1e6, 2e6),
    };
  }

  async close() {
    this.isClosed = true;
  }
}

it("copies have a rate for each direction, and memory is that of the process in bytes", async () => {
  const root = await mkdtemp(join(tmpdir(), "pinbench-"));
  await mkdir(join(root, "proc/self"), { recursive: true });
  const status = "VmLck:\t       3 kB\nVmPin:\t       5 kB\nVmRSS:\t      70 kB\n";
  await writeFile(join(root, "proc/self/status"), status);
  const found = measurement(new FakeDevice(), { root });
  await found.measure();
  await rm(root, { recursive: true });
  expect(found.pools[0]!.record()).toMatchObject({
    h2dGigabytesPerSecond: { median: 50 },
    d2hGigabytesPerSecond: { median: 40 },
    memory: { held: { residentBytes: 70 * 1024, pinnedBytes: 5 * 1024, lockedBytes: 3 * 1024 } },
  });
});

it("the times of touching and of registering are told of all pools but those of one call", async () => {
  const found = measurement(new FakeDevice());
  await found.measure();
  for (const pool of found.pools) {
    const isOneCall = pool.shape.way === "host-alloc";
    const { obtainNs, touchNs, registerNs } = pool.record().samples[0]!;
    const half = isOneCall ? null : obtainNs / 2;
    expect([pool.id, touchNs, registerNs]).toEqual([pool.id, half, half]);
  }
});

describe("another process", () => {
  const opened = (neighbour: Neighbour) => ({ openNeighbour: async () => neighbour });

  it("is watched once for each pool of the largest size, and its waits are reported by call", async () => {
    const neighbour = new FakeNeighbour();
    const device = new FakeDevice();
    const found = measurement(device, { sizesBytes: [GiB, 2 * GiB], ...opened(neighbour) });
    await found.measure();
    expect(found.pools.filter(({ stalls }) => stalls !== null).map(({ sizeBytes }) => sizeBytes)).toEqual(
      Array(8).fill(2 * GiB),
    );
    const pool = found.pools.find(
      ({ id, stalls }) => id === "host-alloc/pieces-1/threads-1" && stalls !== null,
    );
    expect(pool!.stalls).toEqual([
      {
        ...{ call: "memory-info", answers: 3, longestNs: expect.closeTo(0.98e9 - 1e6, -3) },
        stalledShare: expect.closeTo(0.979 / 0.981, 3),
      },
      { call: "small-copy", answers: 3, longestNs: 0, stalledShare: 0 },
    ]);
    expect(found.quietStalls).toHaveLength(2);
    // The figures of the pools are those of nobody else being there.
    expect(Object.values(times(found, 2 * GiB))).toEqual(Array(8).fill(5));
    expect({ watches: neighbour.watches, isClosed: neighbour.isClosed, held: device.held }).toEqual({
      ...{ watches: 9, isClosed: true, held: 0 },
    });
  });

  it("that does not start, or ends, costs its own figures alone, and that is said", async () => {
    const refused = measurement(new FakeDevice(), {
      openNeighbour: () => Promise.reject(nativeError("WORKER_PROCESS_ENDED")),
    });
    await refused.measure();
    expect(refused.omitted).toEqual([
      expect.stringMatching(/^how long another process waits: .*WORKER_PROCESS_ENDED/),
    ]);
    const neighbour = new FakeNeighbour();
    neighbour.beforeWatch = () => {
      if (neighbour.watches === 2) throw nativeError("WORKER_PROCESS_ENDED");
    };
    const ended = measurement(new FakeDevice(), opened(neighbour));
    await ended.measure();
    for (const { error, omitted, pools } of [refused, ended]) {
      expect({ error, omitted: omitted.length, all: pools.every(({ isMeasured }) => isMeasured) }).toEqual({
        ...{ error: null, omitted: 1, all: true },
      });
    }
    expect(ended.pools.filter(({ stalls }) => stalls !== null)).toHaveLength(1);
    expect(neighbour.isClosed).toBe(true);
  });

  it("is not watched for what would take longer than there is time", async () => {
    const neighbour = new FakeNeighbour();
    const found = measurement(new FakeDevice(), {
      ...{ sizesBytes: [16 * GiB], budgetMs: 40_000, ...opened(neighbour) },
    });
    await found.measure();
    const watched = found.pools.filter(({ stalls }) => stalls !== null).map(({ id }) => id);
    expect(watched).toContain("register-huge/pieces-16/threads-16");
    expect(watched).not.toContain("host-alloc/pieces-1/threads-1");
    expect(found.omitted).toEqual([
      "how long another process waits for some pools of 16 GiB: no time was left",
    ]);
  });

  it("that nobody asks for is not started", async () => {
    const found = measurement(new FakeDevice());
    await found.measure();
    expect({ quiet: found.quietStalls, stalls: found.pools.map(({ stalls }) => stalls) }).toEqual({
      ...{ quiet: null, stalls: Array(8).fill(null) },
    });
  });
});

describe("what is refused", () => {
  it("has its limit looked for, in one piece and in several", async () => {
    const device = new FakeDevice();
    device.beforeObtain = ({ way, bytes, pieces }) => {
      if (way === "host-alloc" && bytes / pieces > 100 * MiB) throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const found = measurement(device, { sizesBytes: [2 * GiB] });
    await found.measure();
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
    const device = new FakeDevice();
    device.beforeObtain = ({ way }) => {
      if (way === "register") throw nativeError("CUDA_ERROR_NOT_SUPPORTED");
    };
    const found = measurement(device, { sizesBytes: [GiB, 2 * GiB] });
    await found.measure();
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
    const found = measurement(device);
    await found.measure();
    expect(device.asked.filter(isOne)).toHaveLength(2);
    expect(found.pools[0]!.record()).toMatchObject({ outcome: "measured", samples: [{}], error: null });
    expect(found.omitted).toEqual([expect.stringMatching(/^1 GiB by host-alloc.* once more: /)]);
    expect(found.limits).toEqual([]);
  });

  it("for want of huge pages says how root reserves them, and has no limit of its size", async () => {
    const device = new FakeDevice();
    device.beforeObtain = ({ way }) => {
      if (way === "register-huge") throw nativeError("NO_HUGE_PAGES");
    };
    const found = measurement(device);
    await found.measure();
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
    const found = measurement(device, { budgetMs: 4000 });
    await found.measure();
    expect({ refusals, limits: found.limits }).toEqual({ refusals: 1, limits: [] });
    expect(found.pools[0]!.record()).toMatchObject({ outcome: "refused" });
  });

  it("for want of threads has no limit of its size", async () => {
    const device = new FakeDevice();
    device.beforeObtain = ({ threads }) => {
      if (threads > 1) throw nativeError("TOO_MANY_THREADS");
    };
    const found = measurement(device);
    await found.measure();
    expect(found.limits).toEqual([]);
    expect(found.pools.filter(({ isMeasured }) => isMeasured).map(({ shape }) => shape.threads)).toEqual([
      1, 1, 1,
    ]);
  });
});

describe("a device that fails", () => {
  it("while it copies, as one whose memory is full, leaves the times as they are, and is no limit of pools", async () => {
    const device = new FakeDevice();
    device.beforeCopy = () => {
      throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const found = measurement(device);
    await found.measure();
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
    const device = new FakeDevice();
    device.beforeObtain = ({ way }) => {
      if (way === "register") throw nativeError("CUDA_ERROR_LAUNCH_FAILED", true);
    };
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
    if (isWarmUp(options) || ++measured < 4) return;
    controller.abort();
    throw nativeError("ABORTED") satisfies NativeError;
  };
  await found.measure();
  expect(device).toMatchObject({ isAborted: true, isClosed: true, held: 0 });
  expect(found.pools.filter(({ isMeasured }) => isMeasured)).toHaveLength(3);
  expect(found.pools.at(-1)!.record()).toMatchObject({ outcome: "omitted", reason: "interrupted before" });
  expect(found.error).toBeNull();
});
