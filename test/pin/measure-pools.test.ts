import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { PoolOptions } from "../../src/native/loader-contract.js";
import type { PoolMeasurement } from "../../src/pin/measure-pools.js";
import { shapeId } from "../../src/pin/pool-shapes.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { nativeError, withStoppedClock } from "../measure/support.js";
import { FakeDevice, GiB, isWarmUp, MiB, measurement } from "./fake-pools.js";

/* Which pools are allocated, how often and in which order, on a simulated machine, against snapshots/pools. */

withStoppedClock();

const passes = (ms: number) => void vi.advanceTimersByTime(ms);
const outOfMemory = nativeError("CUDA_ERROR_OUT_OF_MEMORY");
const lost = nativeError("CUDA_ERROR_LAUNCH_FAILED", true);

/** All that is played; a situation changes it, and says what is asked for. */
class World {
  readonly device = new FakeDevice();
  readonly end = new AbortController();
  readonly said: string[] = [];
  readonly root = fixtureRoot({ "proc/self/status": "VmLck:\t3 kB\nVmPin:\t5 kB\nVmRSS:\t70 kB\n" });

  /** Pools that are refused, and the error. */
  refuses(isRefused: (options: PoolOptions) => boolean, error: Error = outOfMemory): void {
    this.device.beforeObtain = (options) => {
      if (isRefused(options)) throw error;
    };
  }
  write(file: string, text: string): void {
    writeFileSync(join(this.root, "proc", file), text);
  }
  available(bytes: number): void {
    this.write("meminfo", `MemTotal: 99999999 kB\nMemAvailable: ${Math.floor(bytes / 1024)} kB`);
  }
}

interface Asked extends Pick<NonNullable<Parameters<typeof measurement>[1]>, "budgetMs" | "sizesBytes"> {
  watches?: boolean;
}

const isPlain = ({ way }: PoolOptions) => way === "host-alloc";
const [small, several] = [[GiB], [GiB, 2 * GiB]];

const situations: [what: string, change: (world: World) => Asked | undefined][] = [
  ["nothing odd", () => undefined],
  [
    "three sizes: what is cheap or may be the best is measured again",
    () => ({ sizesBytes: [GiB / 4, GiB, 16 * GiB] }),
  ],
  ["less time than the slow ones take", () => ({ sizesBytes: [GiB, 16 * GiB], budgetMs: 15_000 })],
  [
    "a size that takes longer than in proportion",
    ({ device }) => {
      device.beforeObtain = ({ bytes }) => bytes === 2 * GiB && passes(5000);
      return { sizesBytes: [GiB, 2 * GiB, 4 * GiB], budgetMs: 50_000 };
    },
  ],
  ["only large pools, and little time", () => ({ sizesBytes: [16 * GiB], budgetMs: 12_000 })],
  // Once each takes 1.72 s, and those that may be the best 72 ms of that.
  ...[0, 450, 1830, 1880, 3000].map((budgetMs): [string, () => Asked] => [
    `a budget of ${budgetMs} ms`,
    () => ({ budgetMs }),
  ]),
  [
    "the quick ones become slow, in 3 s",
    ({ device }) => {
      const quick = ({ way, threads }: PoolOptions) => way === "register-huge" && threads === 16;
      device.beforeObtain = (options) => {
        if (quick(options) && device.asked.filter(quick).length === 4)
          device.costs = { "register-huge 16": 0.375 };
      };
      return { budgetMs: 3000 };
    },
  ],
  ["no time for the larger size", () => ({ sizesBytes: [GiB, 4 * GiB], budgetMs: 450 })],
  [
    "memory before, while and after a pool of huge pages is held",
    (world) => {
      world.device.hugePageShare = 0.75;
      const becomes = (kB: number) => world.write("self/status", `VmRSS:\t${kB} kB\n`);
      world.device.beforeObtain = (options) => isWarmUp(options) || becomes(20);
      world.device.beforeCopy = () => becomes(30);
      return undefined;
    },
  ],
  [
    "too little memory for one size",
    (world) => {
      world.available(4.4 * GiB);
      return { sizesBytes: [3 * GiB, 4 * GiB] };
    },
  ],
  [
    "a limit of one method",
    (world) => {
      world.refuses(({ way, bytes }) => way === "host-alloc" && bytes > 100 * MiB);
      return { sizesBytes: [2 * GiB] };
    },
  ],
  [
    "an unsupported method",
    (world) => {
      world.refuses(({ way }) => way === "register", nativeError("CUDA_ERROR_NOT_SUPPORTED"));
      return { sizesBytes: several };
    },
  ],
  [
    "a pool that is refused when requested again",
    (world) => {
      const isIt = (options: PoolOptions) => isPlain(options) && options.bytes === GiB;
      world.refuses((options) => isIt(options) && world.device.asked.filter(isIt).length > 1);
      return undefined;
    },
  ],
  [
    "no huge pages",
    (world) => void world.refuses(({ way }) => way === "register-huge", nativeError("NO_HUGE_PAGES")),
  ],
  [
    "no time to look for a limit",
    (world) => {
      world.device.beforeObtain = (options) => {
        if (isWarmUp(options) || options.way !== "host-alloc") return;
        passes(5000);
        throw outOfMemory;
      };
      return { budgetMs: 4000 };
    },
  ],
  [
    "time for some tries of a limit",
    (world) => {
      world.refuses(({ bytes }) => bytes === 4 * GiB);
      return { sizesBytes: [4 * GiB], budgetMs: 900 };
    },
  ],
  [
    "a pool whose size others could have",
    (world) =>
      void world.refuses(({ way, threads, bytes }) => way === "register" && threads > 1 && bytes > GiB / 2),
  ],
  ...["TOO_MANY_THREADS", "INVALID_REQUEST"].map((code): [string, (world: World) => Asked] => [
    `${code} is no limit`,
    (world) => {
      world.refuses(({ threads }) => threads > 1, nativeError(code));
      return { sizesBytes: several };
    },
  ]),
  ...[false, true].map((isLost): [string, (world: World) => undefined] => [
    `warming up fails, the context is lost: ${isLost}`,
    (world) => void world.refuses(isWarmUp, nativeError("CUDA_ERROR_LAUNCH_FAILED", isLost)),
  ]),
  [
    "a pool fails, and the context is lost",
    (world) => void world.refuses((options) => options.way === "register" && !isWarmUp(options), lost),
  ],
  ...[
    { error: outOfMemory, directions: ["h2d", "d2h"] },
    { error: outOfMemory, directions: ["d2h"] },
    { error: lost, directions: ["h2d"] },
  ].map(({ error, directions }): [string, (world: World) => undefined] => [
    `copies ${directions} fail with ${error.code}`,
    ({ device }) => {
      device.beforeCopy = (direction) => {
        if (directions.includes(direction)) throw error;
      };
    },
  ]),
  [
    "an abort while a pool is obtained",
    ({ device, end }) => {
      let measured = 0;
      device.beforeObtain = (options) => {
        if (isWarmUp(options) || ++measured === 1) return;
        if (measured === 2) throw nativeError("TOO_MANY_THREADS");
        if (measured < 5) return;
        end.abort();
        throw nativeError("ABORTED");
      };
    },
  ],
  [
    "an abort during a copy",
    ({ device, end }) => {
      device.beforeCopy = () => {
        end.abort();
        throw nativeError("ABORTED");
      };
    },
  ],
  ["an abort before", ({ end }) => void end.abort()],
  ["calls are watched", () => ({ sizesBytes: several, watches: true })],
  ["calls are watched, with little time", () => ({ budgetMs: 4500, watches: true })],
  [
    "launches cannot be watched without kernels",
    ({ device }) => {
      device.beforeWatch = (kind) => {
        if (kind === "launch") throw nativeError("NO_KERNELS");
      };
      return { watches: true };
    },
  ],
  ...[false, true].map((isLost): [string, (world: World) => Asked] => [
    `a pool in pieces is refused, the context is lost: ${isLost}`,
    (world) => {
      world.refuses(({ pieces }) => pieces === 16, nativeError("CUDA_ERROR_OUT_OF_MEMORY", isLost));
      return { watches: true };
    },
  ]),
];

function start(world: World, { watches = false, ...asked }: Asked = {}): PoolMeasurement {
  const { device, end, root } = world;
  return measurement(device, {
    ...{ sizesBytes: small, ...asked, root, signal: end.signal, watchesCalls: watches },
    onActivity: (text) => world.said.push(text),
  });
}

const rounded = (_: string, value: unknown) =>
  typeof value === "number" ? Number(value.toPrecision(7)) : value;
const textOf = (value: unknown) => JSON.stringify(value, rounded);

function resultOf({ device, said }: World, found: PoolMeasurement): string {
  const order = device.asked.map(
    (one) =>
      `${one.bytes / MiB} ${shapeId(one).replace("threads-", "")}${one.pieces > 1 ? ` in ${one.pieces}` : ""}`,
  );
  return [
    ...found.pools.map((pool) => {
      const { samples, way, threads, sizeBytes, ...record } = pool.record();
      const { outcome, reason, error, obtain, release, hugePageShare, memory } = record;
      const { touchNs, registerNs } = samples[0] ?? {};
      const rates = [record.h2dGigabytesPerSecond?.median, record.d2hGigabytesPerSecond?.median];
      const bytes =
        memory && [memory.before, memory.held, memory.after].map(({ residentBytes }) => residentBytes);
      const measured = {
        ...{ samples: samples.length, obtain, release: release?.median, touchNs, registerNs, rates, bytes },
        ...{ pinned: memory?.held.pinnedBytes, locked: memory?.held.lockedBytes, hugePageShare },
      };
      const told = samples.length > 0 ? measured : { reason, error };
      return `  ${sizeBytes / MiB} ${way}/${threads} ${outcome}: ${textOf(told)}`;
    }),
    ...found.limits.map((limit) => `  limit: ${textOf(limit)}`),
    `  ${textOf({ error: found.error, omitted: found.omitted, stalls: found.stalls })}`,
    `  ${textOf({ held: device.held, isAborted: device.isAborted, isClosed: device.isClosed })}`,
    `  asked for ${order.join(", ")}`,
    ...(device.watched.length === 0 ? [] : [`  watched ${device.watched.length} times`]),
    `  said ${said.slice(0, 3).join("; ")}; ${said.at(-1)}`,
  ].join("\n");
}

describe("a measurement of pools", () => {
  it.each(situations)("matches the snapshot of its situation: %s", async (what, change) => {
    const world = new World();
    const found = start(world, change(world));
    await found.measure();
    expect(world.device).toMatchObject({ held: 0, isClosed: true });
    const name = what.replaceAll(/[^A-Za-z0-9.]+/g, "-");
    await expect(`${resultOf(world, found)}\n`).toMatchFileSnapshot(`snapshots/pools/${name}.txt`);
  });

  it("rejects with an error of pinbench's own code", async () => {
    const world = new World();
    world.device.beforeObtain = () => {
      throw new RangeError("a fault");
    };
    await expect(start(world).measure()).rejects.toThrow("a fault");
    expect(world.device.isClosed).toBe(true);
  });

  it("ends only once its session is closed, and rejects if that fails", async () => {
    const world = new World();
    vi.spyOn(world.device, "close").mockRejectedValue(new Error("the session does not end"));
    await expect(start(world).measure()).rejects.toThrow("the session does not end");
  });
});
