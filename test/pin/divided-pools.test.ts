import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { NativeError } from "../../src/native/contract.js";
import type { PoolOptions } from "../../src/native/loader-contract.js";
import { type PoolProcess, shareOf } from "../../src/pin/divided-pools.js";
import type { DividedPool } from "../../src/pin/pinning-document.js";
import { nativeError, stopTheClock } from "../measure/support.js";
import { FakeDevice, GiB, MiB, measuredPools } from "./fake-pools.js";

beforeEach(stopTheClock);
afterEach(() => vi.useRealTimers());

/** Processes whose shares take a second for each GiB, one beginning `lateNs` after the other. */
class FakeProcesses {
  readonly asked: PoolOptions[] = [];
  held = 0;
  open = 0;
  aborts = 0;
  lateNs = 0;
  beforeObtain: (process: number) => void = () => undefined;
  refusal: NativeError | null = null;

  openProcesses = async (count: number): Promise<PoolProcess[]> => {
    if (this.refusal !== null) throw this.refusal;
    this.open = count;
    return Array.from({ length: count }, (_, i) => {
      let isHeld = false;
      return {
        numaNode: null,
        obtainPool: async (options) => {
          this.beforeObtain(i);
          this.asked.push(options);
          ++this.held;
          isHeld = true;
          const obtainNs = (options.bytes / GiB) * 1e9;
          return { obtainNs, endNs: 5e9 + i * this.lateNs + obtainNs };
        },
        releasePool: async () => {
          if (isHeld) --this.held;
          isHeld = false;
        },
        abort: () => ++this.aborts,
        close: async () => void --this.open,
      };
    });
  };
}

const summary = (divided: readonly DividedPool[]) =>
  divided.map(({ way, processes, pieces, threads, samples, reason }) => [
    ...[`${way} in ${processes}: ${pieces} by ${threads}`, samples.length, reason],
  ]);

async function dividedBy(
  processes: FakeProcesses,
  counts: number[],
  more: Parameters<typeof measuredPools>[1] = {},
) {
  const found = await measuredPools(new FakeDevice(), {
    ...more,
    divide: { counts, openProcesses: processes.openProcesses },
  });
  return found;
}

describe("a pool that several processes obtain at once", () => {
  it("is the quickest one and the usual one of the largest size, three times each", async () => {
    const processes = new FakeProcesses();
    const { divided } = await dividedBy(processes, [1, 2], { sizesBytes: [GiB, 2 * GiB] });
    expect(summary(divided)).toEqual([
      ["register-huge in 1: 16 by 16", 3, null],
      ["register-huge in 2: 8 by 8", 3, null],
      ["host-alloc in 1: 1 by 1", 3, null],
      ["host-alloc in 2: 1 by 1", 3, null],
    ]);
    expect(divided.every(({ sizeBytes }) => sizeBytes === 2 * GiB)).toBe(true);
    expect(divided[3]).toMatchObject({ aloneNs: 0.98e9, obtain: { median: 1e9 } });
    expect({ held: processes.held, open: processes.open }).toEqual({ held: 0, open: 0 });
  });

  it("is compared with all times of one process, later ones too", async () => {
    const device = new FakeDevice();
    let times = 0;
    device.beforeObtain = ({ way, pieces, bytes }) => {
      const isUsual = way === "host-alloc" && pieces === 1 && bytes === GiB;
      if (isUsual && ++times === 2) device.costs = { ...device.costs, "host-alloc 1 1": 0.6 };
    };
    const found = await measuredPools(device, { divide: { counts: [2], ...new FakeProcesses() } });
    expect({ ...found.divided[1] }).toMatchObject({ way: "host-alloc", aloneNs: 0.6e9 });
  });

  it("takes from the first process' begin to the last one's end", async () => {
    const processes = new FakeProcesses();
    processes.lateNs = 0.3e9;
    const { divided } = await dividedBy(processes, [4]);
    expect(divided[0]!.samples[0]).toBeCloseTo(0.25e9 + 3 * 0.3e9, -3);
    // The last one may be the first to begin.
    processes.lateNs = -0.3e9;
    const [first] = (await dividedBy(processes, [4])).divided;
    expect(first!.samples[0]).toBeCloseTo(0.25e9 + 3 * 0.3e9, -3);
  });

  it("has the spread of its times", async () => {
    const processes = new FakeProcesses();
    let round = 0;
    processes.beforeObtain = (process) => {
      if (process === 0) processes.lateNs = [0.1e9, 0.1e9, 0.3e9, 0.1e9, 0.2e9][round++] ?? 0;
    };
    const { divided } = await dividedBy(processes, [2]);
    const [median, least, most] = [0.7e9, 0.6e9, 0.8e9].map((ns) => expect.closeTo(ns, -3));
    expect(divided[0]!.obtain).toEqual({ median, least, most });
  });

  it("is not tried where twice the time that it took last is not left", async () => {
    const processes = new FakeProcesses();
    // A round of each of the two took 3.5 s, of which 3 s have passed; 6.6 s are left then.
    processes.lateNs = 3e9;
    processes.beforeObtain = (process) => void (process === 0 && vi.advanceTimersByTime(3000));
    const { divided } = await dividedBy(processes, [2], { budgetMs: 14_500 });
    expect(divided.map(({ samples }) => samples.length)).toEqual([1, 1]);
  });

  it("is no refusal if a process fails by a fault of the program", async () => {
    const processes = new FakeProcesses();
    processes.beforeObtain = () => {
      throw new RangeError("a fault");
    };
    await expect(dividedBy(processes, [2])).rejects.toThrow("a fault");
    expect(processes).toMatchObject({ held: 0, open: 0 });
  });

  it("is measured once if the quickest pool and the usual one have the same shares", async () => {
    const device = new FakeDevice();
    device.costs = { ...device.costs, "host-alloc 16 16": 0.01 };
    const found = await measuredPools(device, { divide: { counts: [2, 16], ...new FakeProcesses() } });
    expect(summary(found.divided).map(([divided]) => divided)).toEqual([
      "host-alloc in 2: 8 by 8",
      "host-alloc in 16: 1 by 1",
      "host-alloc in 2: 1 by 1",
    ]);
  });

  it("has shares of whole huge pages, which together are all of it", async () => {
    const processes = new FakeProcesses();
    await dividedBy(processes, [3], { sizesBytes: [64 * MiB] });
    expect(processes.asked.slice(0, 3).map(({ bytes }) => bytes / MiB)).toEqual([20, 22, 22]);
    const odd = new FakeProcesses();
    await dividedBy(odd, [3], { sizesBytes: [65 * MiB] });
    expect(odd.asked.slice(0, 3).map(({ bytes }) => bytes / MiB)).toEqual([20, 22, 23]);
  });

  it("has shares that differ by one huge page at most, however many processes there are", async () => {
    const processes = new FakeProcesses();
    await dividedBy(processes, [24], { sizesBytes: [256 * MiB] });
    const shares = processes.asked.slice(0, 24).map(({ bytes }) => bytes / MiB);
    expect([Math.min(...shares), Math.max(...shares)]).toEqual([10, 12]);
    expect(shares.reduce((sum, share) => sum + share)).toBe(256);
  });

  it("keeps its figures if a later round is refused, and gives all shares back", async () => {
    const processes = new FakeProcesses();
    let obtained = 0;
    processes.beforeObtain = () => {
      if (++obtained === 6) throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const { divided } = await dividedBy(processes, [2]);
    expect(divided[0]).toMatchObject({ samples: [0.5e9], obtain: { median: 0.5e9 }, reason: null });
    expect(processes.held).toBe(0);
  });

  it("keeps its figures without a reason if no time is left for a later round", async () => {
    const processes = new FakeProcesses();
    processes.beforeObtain = () => void vi.advanceTimersByTime(10_000);
    const { divided } = await dividedBy(processes, [2]);
    expect(divided.map(({ samples, reason }) => [samples.length, reason])).toEqual([
      [2, null],
      [1, null],
    ]);
  });

  it("that one process is refused is given back, and the others are measured", async () => {
    const processes = new FakeProcesses();
    processes.beforeObtain = (process) => {
      if (process === 2) throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
    };
    const { divided, error } = await dividedBy(processes, [2, 4]);
    expect(divided.map(({ obtain, reason }) => [obtain !== null, reason !== null])).toEqual([
      [true, false],
      [false, true],
      [true, false],
      [false, true],
    ]);
    expect({ error, held: processes.held, open: processes.open }).toEqual({ error: null, held: 0, open: 0 });
  });

  it("is left out if its pieces would be too small, or no time is left", async () => {
    const tooMany = await dividedBy(new FakeProcesses(), [32], { sizesBytes: [32 * MiB] });
    expect(tooMany.divided.map(({ reason }) => reason)).toEqual(Array(2).fill("a piece has at least 2 MiB"));
    const just = await dividedBy(new FakeProcesses(), [16], { sizesBytes: [32 * MiB] });
    expect(just.divided.map(({ reason }) => reason)).toEqual([null, null]);
    const late = await dividedBy(new FakeProcesses(), [2], { budgetMs: 5000, sizesBytes: [4 * GiB] });
    expect(late.divided.map(({ reason }) => reason)).toContain("no time was left");
  });

  it("is measured once in each number of processes before any is measured again", async () => {
    const processes = new FakeProcesses();
    processes.beforeObtain = (process) => void (process === 0 && vi.advanceTimersByTime(3000));
    const { divided } = await dividedBy(processes, [2], { sizesBytes: [16 * GiB], budgetMs: 52_000 });
    expect(divided.map(({ way, samples }) => [way, samples.length])).toEqual([
      ["register-huge", 2],
      ["host-alloc", 1],
    ]);
  });

  it("leaves half of the time for watching another process, and the other half is its own", async () => {
    const processes = new FakeProcesses();
    const budgets = { sizesBytes: [16 * GiB], budgetMs: 50_000 };
    const alone = await dividedBy(processes, [2], budgets);
    expect(alone.divided.map(({ obtain }) => obtain !== null)).toEqual([true, true]);
    const watch = async () => undefined;
    const endWatch = async () => ({});
    const openNeighbour = async () => ({ watch, endWatch, close: watch });
    const { divided, pools } = await dividedBy(processes, [2], { ...budgets, openNeighbour });
    expect(divided.map(({ obtain }) => obtain !== null)).toEqual([true, false]);
    expect(pools.some(({ stalls }) => stalls !== null)).toBe(true);
  });

  it("has another process' waits from the round with the longest, and that process is ended too", async () => {
    // The rounds of the first pool and of the second take turns.
    const latesMs = [3, 0, 7, 0, 5, 0];
    let open = 0;
    const openNeighbour = async () => {
      ++open;
      return {
        watch: async () => undefined,
        endWatch: async () => ({ "small-copy": Float64Array.of(0, (1 + (latesMs.shift() ?? 0)) * 1e6) }),
        close: async () => void --open,
      };
    };
    const { divided } = await dividedBy(new FakeProcesses(), [2], { openNeighbour });
    expect(divided.map(({ stalls }) => stalls?.map(({ longestNs }) => longestNs))).toEqual([[7e6], [0]]);
    expect(open).toBe(0);
  });

  it("is missing with the reason if a process does not start", async () => {
    const processes = new FakeProcesses();
    processes.refusal = nativeError("WORKER_PROCESS_NOT_STARTED");
    const { divided, omitted, error } = await dividedBy(processes, [2]);
    expect({ divided, error }).toEqual({ divided: [], error: null });
    expect(omitted).toEqual([expect.stringMatching(/^pools in several processes: .*NOT_STARTED/)]);
  });

  it("ends with an abort, which all processes learn of", async () => {
    const end = new AbortController();
    const processes = new FakeProcesses();
    processes.beforeObtain = (process) => {
      if (process === 1) end.abort();
    };
    const { divided } = await dividedBy(processes, [2], { signal: end.signal });
    expect({ divided: divided.length, ...processes }).toMatchObject({
      divided: 2,
      aborts: 2,
      held: 0,
      open: 0,
    });
  });
});

it("shares have pieces and threads of their own, and at least one", () => {
  const pool = { way: "register", pieces: 16, threads: 4 } as const;
  expect(shareOf(pool, 2)).toEqual({ way: "register", pieces: 8, threads: 2 });
  expect(shareOf(pool, 8)).toEqual({ way: "register", pieces: 2, threads: 1 });
  expect(shareOf(pool, 64)).toEqual({ way: "register", pieces: 1, threads: 1 });
});
