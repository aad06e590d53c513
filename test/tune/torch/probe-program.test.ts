import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { probeProgram } from "../../../src/tune/torch/probe-process.js";
import { python, skipWithoutTorch, target } from "./support.js";

/** Parts of the Python program that is run in the user's Python, called by programs of these tests. */
const probe = dirname(probeProgram);

describe("copies that overlap", () => {
  skipWithoutTorch();

  interface Told {
    issuedMs: number[];
    arrivedMs: number[];
    toldMs: number[];
  }

  let loops: Told[] | null = null;

  /** The loops without a step and with steps of 100 and 300 ms, run once for both tests. */
  function told(): Told[] {
    const args = ["-B", target("overlapping.py"), probe, "0", "100", "300"];
    loops ??= execFileSync(python, args, { encoding: "utf8" })
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Told);
    return loops;
  }

  it("have arrived when they were done, not when the next batch was there, and are told soon", () => {
    const { issuedMs, arrivedMs, toldMs } = told()[0]!;
    expect(arrivedMs).toHaveLength(3);
    for (const [i, issued] of issuedMs.entries()) {
      expect(arrivedMs[i]! - issued).toBeGreaterThan(15);
      expect(arrivedMs[i]! - issued).toBeLessThan(60);
      expect(toldMs[i]! - arrivedMs[i]!).toBeLessThan(60);
    }
  });

  it("are not put off by a step behind them, but by one before them", () => {
    const [, short, long] = told();
    expect(short!.arrivedMs[0]! - short!.issuedMs[0]!).toBeLessThan(60);
    // Issued after 200 ms, behind a step that ends 100 ms later.
    expect(long!.arrivedMs[1]! - long!.issuedMs[1]!).toBeGreaterThan(100);
    expect(long!.arrivedMs[1]! - long!.issuedMs[1]!).toBeLessThan(200);
  });
});

describe("pinned memory of a trial", () => {
  skipWithoutTorch();

  /** Counts of torch's pinned memory: requests, their bytes, requests in use, and most of them in use. */
  type Counts = readonly [number, number, number, number];

  /** What trials are said to have pinned, each by the counts before it and after it and the tensors of its batches. */
  function pinnedBytes(...trials: [before: Counts, after: Counts, tensors: number][]): number[] {
    const program = `
import sys
sys.path.append(${JSON.stringify(probe)})
from pinbench_probe import usage
for before, after, tensors in ${JSON.stringify(trials)}:
    usage._pinned_counts = lambda: after
    print(usage._pinned_peak(before, tensors))`;
    const said = execFileSync(python, ["-B", "-c", program], { encoding: "utf8" });
    return said.trim().split("\n").map(Number);
  }

  it("is what its requests have taken at once, in whole batches, beyond those of earlier trials", () => {
    const batchBytes = 1000;
    expect(
      pinnedBytes(
        // 100 batches of two tensors, of which 8 were pinned at once, after a trial that left 12 requests, which torch
        // does not count down.
        [[400, 200 * batchBytes, 12, 12], [600, 300 * batchBytes, 30, 28], 2],
        // A request from before was given back meanwhile.
        [[1, 500, 1, 1], [21, 500 + 10 * batchBytes, 0, 2], 2],
        // Nothing was pinned.
        [[4, 2000, 1, 1], [4, 2000, 1, 1], 2],
      ),
    ).toEqual([8 * batchBytes, batchBytes, 0]);
  });
});

it("takes no error of the data set's own threads for the pinning thread's", () => {
  const said = execFileSync(python, ["-B", target("thread_errors.py"), probe], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [pinning, other] = said.split("\n");
  expect(pinning).toContain("TypeError: cannot pin this");
  expect(other).toContain("Pin memory thread exited unexpectedly");
});
