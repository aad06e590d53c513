import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { shapeId } from "../../src/pin/pool-shapes.js";
import type { Neighbour } from "../../src/pin/stalls.js";
import { nativeError, stopTheClock } from "../measure/support.js";
import { FakeDevice, GiB, measuredPools, refusing, times } from "./fake-pools.js";

beforeEach(stopTheClock);
afterEach(() => vi.useRealTimers());

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

describe("another process", () => {
  const opened = (neighbour: Neighbour) => ({ openNeighbour: async () => neighbour });

  it("is watched once for each pool of the largest size, the quick ones first, and its waits are reported by call", async () => {
    const neighbour = new FakeNeighbour();
    const device = new FakeDevice();
    const order: string[] = [];
    device.beforeObtain = (options) => {
      // The first watch is without any pool.
      if (neighbour.watches === order.length + 2) order.push(shapeId(options));
    };
    const found = await measuredPools(device, { sizesBytes: [GiB, 2 * GiB], ...opened(neighbour) });
    const quickFirst = found.pools.slice(-8).toSorted((one, other) => one.obtainNs - other.obtainNs);
    expect(order).toEqual(quickFirst.map(({ id }) => id));
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
    const refused = await measuredPools(new FakeDevice(), {
      openNeighbour: () => Promise.reject(nativeError("WORKER_PROCESS_ENDED")),
    });
    expect(refused.omitted).toEqual([
      expect.stringMatching(/^how long another process waits: .*WORKER_PROCESS_ENDED/),
    ]);
    const neighbour = new FakeNeighbour();
    neighbour.beforeWatch = () => {
      if (neighbour.watches === 2) throw nativeError("WORKER_PROCESS_ENDED");
    };
    const ended = await measuredPools(new FakeDevice(), opened(neighbour));
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
    const found = await measuredPools(new FakeDevice(), {
      ...{ sizesBytes: [16 * GiB], budgetMs: 40_000, ...opened(neighbour) },
    });
    const watched = found.pools.filter(({ stalls }) => stalls !== null).map(({ id }) => id);
    expect(watched).toContain("register-huge/pieces-16/threads-16");
    expect(watched).not.toContain("host-alloc/pieces-1/threads-1");
    expect(found.omitted).toEqual([
      "how long another process waits for some pools of 16 GiB: no time was left",
    ]);
  });

  it.each([
    ["loses its figures, and the pools keep theirs,", false, null],
    ["ends all", true, "CUDA_ERROR_OUT_OF_MEMORY"],
  ])("%s if a pool is refused while it is watched and the context is lost: %s", async (_, isLost, error) => {
    const neighbour = new FakeNeighbour();
    let ended = 0;
    const endWatch = neighbour.endWatch.bind(neighbour);
    neighbour.endWatch = () => {
      ++ended;
      return endWatch();
    };
    const device = refusing(() => neighbour.watches === 2 && ended === 1, "CUDA_ERROR_OUT_OF_MEMORY", isLost);
    const found = await measuredPools(device, opened(neighbour));
    expect({ error: found.error?.code ?? null, ended, isClosed: neighbour.isClosed }).toEqual({
      ...{ error, ended: 2, isClosed: true },
    });
    expect(found.pools.every(({ isMeasured, stalls }) => isMeasured && stalls === null)).toBe(true);
    expect(found.omitted).toHaveLength(isLost ? 0 : 1);
  });

  it("that nobody asks for is not started", async () => {
    const found = await measuredPools(new FakeDevice());
    expect({ quiet: found.quietStalls, stalls: found.pools.map(({ stalls }) => stalls) }).toEqual({
      ...{ quiet: null, stalls: Array(8).fill(null) },
    });
  });
});
