import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, type statfsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { TrialUsage } from "../../../src/tune/live/trial-usage.js";

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

  it("has what is there at the end, though that was not looked at before", () => {
    const usage = new TrialUsage(0);
    holdKiB(100);
    sharedBytes = 130 * KiB;
    expect(usage.end(workers()).sharedMemoryBytes).toBe(130 * KiB);
  });

  it("is nothing without workers, and not known where there was no /dev/shm to look at before", () => {
    sharedBytes = 100 * KiB;
    const nothing = { sharedMemoryBytes: 0, workerPrivateBytes: 0 };
    expect(new TrialUsage(0).end(noWorkers)).toMatchObject(nothing);
    expect(new TrialUsage(null).end(workers()).sharedMemoryBytes).toBeNull();
  });

  it("is not less than nothing, where others have freed theirs meanwhile", () => {
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

/** The sum of these lines of a file, in its own unit. */
function sumOf(pid: number, file: string, line: RegExp): number {
  const text = readFileSync(`/proc/${pid}/${file}`, "utf8");
  return [...text.matchAll(line)].reduce((sum, [, value]) => sum + Number(value), 0);
}

const privateKiB = (pid: number) => sumOf(pid, "smaps", /^Private_(?:Clean|Dirty|Hugetlb): +(\d+) kB$/gm);
const readFromStorage = (pid: number) => sumOf(pid, "io", /^read_bytes: (\d+)$/gm);

describe("what the workers of a trial take", () => {
  it("is the private memory of all workers of one rank, in units of 1024 bytes as /proc has it", async () => {
    const [one, two, other] = [await stillProcess(), await stillProcess(), await stillProcess()];
    const { workerPrivateBytes } = new TrialUsage(0).end(workers([one, two], [other]));
    expect(privateKiB(one)).toBeGreaterThan(9e6 / KiB);
    expect(workerPrivateBytes).toBe((privateKiB(one) + privateKiB(two)) * KiB);
  });

  it("is what storage delivered to the workers of all ranks since the trial began", async () => {
    const [one, two] = [await stillProcess(), await stillProcess()];
    const makers = workers([one], [two]);
    const isNew = new TrialUsage(0);
    isNew.begin(makers, true);
    expect(isNew.end(makers).storageReadBytes).toBe(readFromStorage(one) + readFromStorage(two));
    const inForce = new TrialUsage(0);
    inForce.begin(makers, false);
    expect(inForce.end(makers).storageReadBytes).toBe(0);
  });

  it("is not known where one of them is gone", async () => {
    const gone = workers([await stillProcess(), 2 ** 22 + 1]);
    expect(new TrialUsage(0).end(gone)).toMatchObject({ workerPrivateBytes: null, storageReadBytes: null });
  });
});
