import { describe, expect, it } from "vitest";
import { summarize } from "../../src/measure/cell-progress.js";
import type { NativeError } from "../../src/native/contract.js";
import type { CellSamples } from "../../src/results/cell-schema.js";
import { emptyResult, KiB, nativeError, progressOf } from "./support.js";

function samplesOf(durationNs: number[], direction: CellSamples["direction"] = "h2d"): CellSamples {
  return { direction, bytesPerSample: 1000, durationNs, startNs: durationNs, round: durationNs.map(() => 0) };
}

const nothingWrong = {
  ...emptyResult,
  verification: { checkedBytes: 1, mismatches: [], copies: 4, provenCopies: 4 },
};

const throughput = { direction: "h2d", mode: "throughput" } as const;
const sevenSamples = [100, 125, 200, 250, 400, 500, 1000];

describe("summarize", () => {
  it("gives GB/s: bytes over nanoseconds, sample by sample", () => {
    const [stats] = summarize(throughput, [samplesOf([100, 200, 1000])], null);
    expect(stats?.bandwidthGBps).toMatchObject({ median: 5, min: 1, max: 10, low: null, high: null });
    expect(stats).toMatchObject({ direction: "h2d", samples: 3, latencyUs: null, linkShare: null });
    const elevenRates = Array.from({ length: 11 }, (_, i) => 1000 / (i + 1));
    const { p10, p90 } = summarize(throughput, [samplesOf(elevenRates)], null)[0]!.bandwidthGBps;
    expect([p10, p90]).toEqual([expect.closeTo(2, 9), expect.closeTo(10, 9)]);
  });

  it("has an interval from 6 samples on, and says how wide it is", () => {
    const [stats] = summarize(throughput, [samplesOf(sevenSamples)], null);
    // The order statistics 1 and 7 cover the median of 7 samples with 98.4 %, those within with 87.5 %.
    expect(stats?.bandwidthGBps).toMatchObject({ median: 4, min: 1, max: 10, low: 1, high: 10 });
    expect(stats?.relativeHalfWidth).toBe((10 - 1) / 2 / 4);
    expect(summarize(throughput, [samplesOf([100, 100])], null)[0]?.relativeHalfWidth).toBeNull();
  });

  it("computes the share of the link's limit from the median", () => {
    const [stats] = summarize(throughput, [samplesOf([100, 200, 1000])], 20);
    expect(stats?.linkShare).toBe(0.25);
  });

  it("gives microseconds with their tail in latency mode", () => {
    const cell = { direction: "h2d", mode: "latency" } as const;
    const durationNs = Array.from({ length: 101 }, (_, i) => 1000 + 10 * i);
    const [stats] = summarize(cell, [samplesOf(durationNs)], null);
    expect(stats?.latencyUs).toMatchObject({ median: 1.5, min: 1, max: 2, p90: 1.9, p99: 1.99 });
  });

  it("gives a latency cell neither a sum nor a share of the link: its rate is one worker's", () => {
    const cell = { direction: "bidir", mode: "latency" } as const;
    const stats = summarize(cell, [samplesOf(sevenSamples), samplesOf(sevenSamples, "d2h")], 20);
    expect(stats.map(({ direction, linkShare }) => [direction, linkShare])).toEqual([
      ["h2d", null],
      ["d2h", null],
    ]);
  });

  it("sums the directions of a bidir cell sample by sample, and gives the sum no share of one link", () => {
    const cell = { direction: "bidir", mode: "throughput" } as const;
    const stats = summarize(cell, [samplesOf([100, 200, 500]), samplesOf([1000, 500, 200], "d2h")], 20);
    expect(stats.map(({ direction }) => direction)).toEqual(["h2d", "d2h", "sum"]);
    expect(stats.map(({ linkShare }) => linkShare)).toEqual([0.25, 0.1, null]);
    // 10 + 1, 5 + 2 and 2 + 5
    expect(stats[2]?.bandwidthGBps).toMatchObject({ median: 7, min: 7, max: 11 });
    const [up, down] = [3000 / 800, 3000 / 1700];
    expect(stats.map(({ overTimeGBps }) => overTimeGBps)).toEqual([up, down, up + down]);
  });

  it("counts each byte of a p2p cell once, and gives no share of the link to the host", () => {
    const cell = { direction: "p2p", mode: "throughput" } as const;
    const [stats] = summarize(cell, [samplesOf([100], "p2p")], 20);
    const [toDevice] = summarize({ direction: "h2d", mode: "throughput" }, [samplesOf([100], "h2d")], 20);
    expect(stats?.bandwidthGBps.median).toBe(toDevice?.bandwidthGBps.median);
    expect(stats?.linkShare).toBeNull();
  });

  it("counts both the bytes read and the bytes written of a d2d cell, with no share of a link", () => {
    const cell = { direction: "d2d", mode: "throughput" } as const;
    const [stats] = summarize(cell, [samplesOf([100], "d2d")], 20);
    expect(stats).toMatchObject({ bandwidthGBps: { median: 20 }, linkShare: null });
  });

  it("throws an error if there are no samples", () => {
    expect(() => summarize(throughput, [samplesOf([])], null)).toThrow(RangeError);
  });
});

describe("the load beside a cell", () => {
  it("is reported as medians over visits: its rate alone, during copies, and the ratio", () => {
    const progress = progressOf({ beside: "memory" });
    expect(progress.load).toBeNull();
    progress.loadVisits.push({ alone: 10, during: 5 }, { alone: 12, during: 9 }, { alone: 8, during: 5 });
    expect(progress.load).toMatchObject({
      unit: "GB/s",
      alone: { median: 10 },
      during: { median: 5 },
      keptShare: { median: 0.625, min: 0.5, max: 0.75 },
    });
  });

  it("may have a rate of 0 during the copies", () => {
    const progress = progressOf({ beside: "compute" });
    progress.loadVisits.push({ alone: 10, during: 0 });
    expect(progress.load).toMatchObject({ unit: "GFLOP/s", keptShare: { median: 0, max: 0 } });
  });
});

describe("a cell of several visits", () => {
  it("adds up copies and compared bytes of all visits, and keeps its samples by round", () => {
    const progress = progressOf();
    progress.copiesPerSample = 4;
    const visit = (
      durationNs: number[],
      verification: { checkedBytes: number; copies: number; provenCopies: number },
    ) => ({
      columns: [
        {
          direction: "h2d" as const,
          startNs: Float64Array.from(durationNs, (ns) => 2 * ns),
          durationNs: Float64Array.from(durationNs),
        },
      ],
      verification: { ...verification, mismatches: [] },
      link: null,
      aborted: false,
    });
    progress.add(visit([100, 200], { checkedBytes: 1000, copies: 8, provenCopies: 3 }), 0);
    progress.add(visit([300], { checkedBytes: 500, copies: 4, provenCopies: 2 }), 1);
    expect(progress).toMatchObject({ checkedBytes: 1500, copies: 12, provenCopies: 5, taken: 3 });
    expect(progress.samples[0]).toMatchObject({
      ...{ startNs: [200, 400, 600], durationNs: [100, 200, 300], round: [0, 0, 1] },
    });
  });
});

it("a cell that fails records the call that failed", () => {
  const progress = progressOf();
  progress.fail(Object.assign(nativeError("CUDA_ERROR_UNKNOWN", true), { call: "cuInit" }));
  expect(progress).toMatchObject({
    outcome: "failed",
    error: {
      ...{ code: "CUDA_ERROR_UNKNOWN", message: "it failed with CUDA_ERROR_UNKNOWN" },
      ...{ call: "cuInit", location: "a.cpp:1", sticky: true },
    },
  });
  progress.fail(new Error("odd") as NativeError);
  const unknown = { code: "INTERNAL", message: "odd", call: null, location: null, sticky: false };
  expect(progress.error).toEqual(unknown);
});

it("the host's time for a block is that of a sample, divided by the blocks of all of its copies", () => {
  const progress = progressOf({ sizeBytes: 64 * KiB, blockBytes: KiB });
  progress.copiesPerSample = 4;
  const hostNs = [256_000, 512_000, 1_024_000].map((ns) => Float64Array.of(ns));
  for (const [round, ns] of hostNs.entries()) {
    const column = { direction: "h2d", startNs: ns, durationNs: ns, hostNs: ns } as const;
    progress.add({ ...nothingWrong, columns: [column] }, round);
  }
  expect(progress.hostNsPerBlock).toMatchObject({ min: 1000, median: 2000, max: 4000 });
  const both = progressOf({ direction: "bidir", sizeBytes: 64 * KiB, blockBytes: KiB });
  both.copiesPerSample = 4;
  const columns = hostNs.slice(1).map((ns, i) => {
    return { direction: (["h2d", "d2h"] as const)[i]!, startNs: ns, durationNs: ns, hostNs: ns };
  });
  both.add({ ...nothingWrong, columns }, 0);
  expect(both.hostNsPerBlock).toMatchObject({ median: 3000 });
});
