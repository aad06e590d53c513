import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { probeProgram } from "../../../src/tune/torch/probe-process.js";
import { python } from "./support.js";

/** Counts of torch's pinned memory: requests, their bytes, requests in use, and most of them in use. */
type Counts = readonly [number, number, number, number];

/** What a trial of batches of so many tensors is said to have pinned, by the counts before it and after it. */
function pinnedBytes(before: Counts, after: Counts, tensors: number): number {
  const program = `
import sys
sys.path.append(${JSON.stringify(dirname(probeProgram))})
from pinbench_probe import usage
usage._pinned_counts = lambda: ${JSON.stringify(after)}
print(usage._pinned_peak(${JSON.stringify(before)}, ${tensors}))`;
  return Number(execFileSync(python, ["-c", program], { encoding: "utf8" }));
}

describe("pinned memory of a trial", () => {
  const batchBytes = 1000;

  it("is what its requests have taken at once, beyond those of earlier trials that torch does not count down", () => {
    // 100 batches of two tensors, of which 8 were pinned at once, after a trial that left 12 requests.
    expect(pinnedBytes([400, 200 * batchBytes, 12, 12], [600, 300 * batchBytes, 30, 28], 2)).toBe(
      8 * batchBytes,
    );
  });

  it("is of whole batches, where a request from before was given back meanwhile", () => {
    expect(pinnedBytes([1, 500, 1, 1], [21, 500 + 10 * batchBytes, 0, 2], 2)).toBe(batchBytes);
  });

  it("is none where nothing was pinned", () => {
    expect(pinnedBytes([4, 2000, 1, 1], [4, 2000, 1, 1], 2)).toBe(0);
  });
});
