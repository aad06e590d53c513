import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { probeProgram } from "../../../src/tune/torch/probe-process.js";
import { printedBy, skipWithoutTorch, target } from "./support.js";

/** Parts of the Python program that is run in the user's Python, called by programs of these tests. */
const probe = dirname(probeProgram);

describe("copies that overlap", () => {
  skipWithoutTorch();

  interface Told {
    issuedMs: number[];
    /** When the played GPU was done with each copy. */
    doneMs: number[];
    arrivedMs: number[];
    toldMs: number[];
  }

  let loops: Told[] | null = null;

  /** The loops without a step and with steps of 100 and 300 ms, run once for both tests. */
  function told(): Told[] {
    const args = ["-B", target("overlapping.py"), probe, "0", "100", "300"];
    loops ??= printedBy(args)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Told);
    return loops;
  }

  it("have arrived when they were done, whatever step stands before or behind them", () => {
    for (const { issuedMs, doneMs, arrivedMs } of told()) {
      expect(arrivedMs).toHaveLength(3);
      for (const [i, done] of doneMs.entries()) {
        expect(done - issuedMs[i]!).toBeGreaterThan(15);
        expect(arrivedMs[i]! - done).toBeGreaterThan(-2);
        expect(arrivedMs[i]! - done).toBeLessThan(40);
      }
    }
    // A step behind the copy is of no account; the second copy is issued 200 ms after the first, in whose step it waits.
    const [, short, long] = told();
    expect(short!.doneMs[0]! - short!.issuedMs[0]!).toBeLessThan(100);
    expect(long!.doneMs[1]! - long!.doneMs[0]!).toBeGreaterThan(300);
  });

  it("are reported before the next batch arrives", () => {
    const { issuedMs, toldMs } = told()[0]!;
    for (const [i, toldAt] of toldMs.slice(0, -1).entries()) expect(toldAt).toBeLessThan(issuedMs[i + 1]!);
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
from pinbench_probe.timed import usage
for before, after, tensors in ${JSON.stringify(trials)}:
    usage._pinned_counts = lambda: after
    print(usage._pinned_peak(before, tensors))`;
    const said = printedBy(["-B", "-c", program]);
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
  const said = printedBy(["-B", target("thread_errors.py"), probe]);
  const [pinning, other] = said.split("\n");
  expect(pinning).toContain("TypeError: cannot pin this");
  expect(other).toContain("Pin memory thread exited unexpectedly");
});
