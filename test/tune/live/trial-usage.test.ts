import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, type statfsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type * as Files from "../../../src/host/files.js";
import { TrialUsage } from "../../../src/tune/live/live-job.js";

/** What /dev/shm holds; other programs of a real machine would change it meanwhile. */
let sharedBytes = 0;

vi.mock("node:fs", async (original) => ({
  ...(await original<object>()),
  statfsSync: (() => ({
    blocks: 100 + sharedBytes / 512,
    bfree: 100,
    bsize: 512,
  })) as unknown as typeof statfsSync,
}));

/** What storage has delivered to processes, by their ids: what is in the page cache is not read, and most is. */
const deliveredBytes = new Map<number, number>();

vi.mock("../../../src/host/files.js", async (original) => {
  const files = await original<typeof Files>();
  const readText = (root: string, path: string) => {
    const pid = Number(/^proc\/(\d+)\/io$/.exec(path)?.[1]);
    if (!deliveredBytes.has(pid)) return files.readText(root, path);
    return `rchar: 7\nread_bytes: ${deliveredBytes.get(pid)}\nwrite_bytes: 5\ncancelled_write_bytes: 0`;
  };
  return { ...files, readText };
});

beforeEach(() => {
  deliveredBytes.clear();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const KiB = 1024;
const noWorkers = { ranks: [], hasWorkers: false };
const workers = (...ranks: number[][]) => ({ ranks, hasWorkers: true });

/** Lets /dev/shm hold one amount after the other, each until it has been looked at. */
function holdKiB(...amounts: number[]): void {
  for (const kib of amounts) {
    sharedBytes = kib * KiB;
    vi.advanceTimersByTime(100);
  }
}

describe("the shared memory of a trial", () => {
  it("is the most that was there at a time, above what was there before the job", () => {
    const usage = new TrialUsage(20 * KiB);
    holdKiB(50, 90, 60);
    expect(usage.end(workers()).sharedMemoryBytes).toBe(70 * KiB);
  });

  it("is not what the batches of the setting before took, until the first one of this has come", () => {
    const usage = new TrialUsage(0);
    holdKiB(900, 800);
    usage.begin(workers(), true);
    holdKiB(300, 200);
    expect(usage.end(workers()).sharedMemoryBytes).toBe(300 * KiB);
  });

  it("has the use at the end even if none was measured before", () => {
    const usage = new TrialUsage(0);
    holdKiB(100);
    sharedBytes = 130 * KiB;
    expect(usage.end(workers()).sharedMemoryBytes).toBe(130 * KiB);
  });

  it("is 0 without workers, and unknown without an earlier value of /dev/shm", () => {
    sharedBytes = 100 * KiB;
    const nothing = { sharedMemoryBytes: 0, workerPrivateBytes: 0 };
    const inProcess = { ranks: [[process.pid]], hasWorkers: false };
    expect(new TrialUsage(20 * KiB).end(inProcess)).toMatchObject(nothing);
    expect(new TrialUsage(0).end(noWorkers)).toMatchObject(nothing);
    expect(new TrialUsage(null).end(workers()).sharedMemoryBytes).toBeNull();
  });

  it("is never negative, even if others have freed memory", () => {
    sharedBytes = 5 * KiB;
    expect(new TrialUsage(10 * KiB).end(workers()).sharedMemoryBytes).toBe(0);
  });
});

/** A process that holds still; what /proc says of it stays as it is. */
async function stillProcess(): Promise<number> {
  const child: ChildProcess = spawn(process.execPath, [
    "-e",
    "const held = Buffer.alloc(9e6, 1); console.log(held.length); setTimeout(() => held, 1e6)",
  ]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout!, "data");
  child.kill("SIGSTOP");
  return child.pid!;
}

/** As the kernel tells it of each mapping. */
function privateKiB(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps`, "utf8");
  const lines = text.matchAll(/^Private_(?:Clean|Dirty|Hugetlb): +(\d+) kB$/gm);
  return [...lines].reduce((sum, [, kB]) => sum + Number(kB), 0);
}

describe("what the workers of a trial take", () => {
  it("is the private memory of all workers of one rank, in units of 1024 bytes as /proc has it", async () => {
    const [one, two, other] = [await stillProcess(), await stillProcess(), await stillProcess()];
    const { workerPrivateBytes } = new TrialUsage(0).end(workers([one, two], [other]));
    expect(privateKiB(one)).toBeGreaterThan(9e6 / KiB);
    expect(workerPrivateBytes).toBe((privateKiB(one) + privateKiB(two)) * KiB);
  });

  it("is what storage delivered to the workers of all ranks since the trial began", () => {
    const makers = workers([101, 102], [103]);
    const deliver = (...bytes: number[]) => {
      for (const [i, pid] of [101, 102, 103].entries()) deliveredBytes.set(pid, bytes[i]!);
    };
    const readIn = (areNew: boolean) => {
      const usage = new TrialUsage(0);
      deliver(1000, 200, 30);
      usage.begin(makers, areNew);
      deliver(5000, 600, 70);
      return usage.end(makers).storageReadBytes;
    };
    // New ones have read all that they have for this trial: the first batch too.
    expect(readIn(true)).toBe(5000 + 600 + 70);
    expect(readIn(false)).toBe(4000 + 400 + 40);
  });

  it("is unknown if one of them has ended", async () => {
    const gone = workers([await stillProcess(), 2 ** 22 + 1]);
    expect(new TrialUsage(0).end(gone)).toMatchObject({ workerPrivateBytes: null, storageReadBytes: null });
  });
});
