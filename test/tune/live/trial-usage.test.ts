import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, type statfsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
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

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const KiB = 1024;

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
    expect(usage.end([]).sharedMemoryBytes).toBe(70 * KiB);
  });

  it("is not what the batches of the setting before took, until the first one of this has come", () => {
    const usage = new TrialUsage(0);
    holdKiB(900, 800);
    usage.begin();
    holdKiB(300, 200);
    expect(usage.end([]).sharedMemoryBytes).toBe(300 * KiB);
  });

  it("has the use at the end even if none was measured before", () => {
    const usage = new TrialUsage(0);
    holdKiB(100);
    sharedBytes = 130 * KiB;
    expect(usage.end([]).sharedMemoryBytes).toBe(130 * KiB);
  });

  it("is 0 without workers, and unknown without an earlier value of /dev/shm", () => {
    sharedBytes = 100 * KiB;
    const nothing = { sharedMemoryBytes: 0, workerPrivateBytes: 0 };
    expect(new TrialUsage(0).end(null)).toMatchObject(nothing);
    expect(new TrialUsage(null).end([]).sharedMemoryBytes).toBeNull();
  });

  it("is never negative, even if others have freed memory", () => {
    sharedBytes = 5 * KiB;
    expect(new TrialUsage(10 * KiB).end([]).sharedMemoryBytes).toBe(0);
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
    const [one, two] = [await stillProcess(), await stillProcess()];
    const { workerPrivateBytes } = new TrialUsage(0).end([one, two]);
    expect(privateKiB(one)).toBeGreaterThan(9e6 / KiB);
    expect(workerPrivateBytes).toBe((privateKiB(one) + privateKiB(two)) * KiB);
  });

  it("is unknown if one of them has ended", async () => {
    const gone = [await stillProcess(), 2 ** 22 + 1];
    expect(new TrialUsage(0).end(gone)).toMatchObject({ workerPrivateBytes: null });
  });
});
