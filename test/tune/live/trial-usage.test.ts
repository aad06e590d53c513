import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { privateBytesOf } from "../../../src/tune/live/live-job.js";

const KiB = 1024;

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

/** The sum over the kernel's list of mappings. */
function privateKiB(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps`, "utf8");
  const lines = text.matchAll(/^Private_(?:Clean|Dirty|Hugetlb): +(\d+) kB$/gm);
  return [...lines].reduce((sum, [, kB]) => sum + Number(kB), 0);
}

describe("the memory of a trial's workers", () => {
  it("is the private memory of all workers of one rank, in units of 1024 bytes as /proc has it", async () => {
    const [one, two] = [await stillProcess(), await stillProcess()];
    const bytes = privateBytesOf([one, two]);
    expect(privateKiB(one)).toBeGreaterThan(9e6 / KiB);
    expect(bytes).toBe((privateKiB(one) + privateKiB(two)) * KiB);
  });

  it("is unknown if one worker has ended", async () => {
    const gone = [await stillProcess(), 2 ** 22 + 1];
    expect(privateBytesOf(gone)).toBeNull();
  });
});
