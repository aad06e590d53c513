import { describe, expect, it } from "vitest";
import type { PinnedPool } from "../../src/pools/pinning-document.js";
import { recommendPool, wayInWords } from "../../src/pools/recommend-pool.js";
import { buildPool, buildUnmeasured, h200Pools } from "../helpers/pinning.js";

const GiB = 1024 ** 3;
const recommended = (pools: PinnedPool[]) => recommendPool(pools, { device: 0, numaNode: null });
const hostAlloc = { way: "host-alloc", pieces: 1, threads: 1 } as const;
const register = { way: "register", pieces: 1, threads: 1 } as const;
const byThreads = { way: "register-huge", pieces: 1, threads: 16 } as const;
const inPieces = { way: "register-huge", pieces: 16, threads: 16 } as const;
const hugetlb = { way: "register-hugetlb", pieces: 1, threads: 16 } as const;

describe("the way that is recommended", () => {
  it("is the fastest where nothing simpler comes near", () => {
    const pools = [
      buildPool(hostAlloc, [7.9]),
      buildPool(byThreads, [0.9, 0.91, 0.92]),
      buildPool(inPieces, [0.55, 0.56, 0.57]),
    ];
    expect(recommended(pools)).toMatchObject({
      ...inPieces,
      obtainNs: 0.56e9,
      hostAllocNs: 7.9e9,
      reason: "It is the fastest way of those that were measured.",
    });
  });

  it("is a simpler one where the gain is too small to be worth the trouble", () => {
    const chosen = recommended(h200Pools)!;
    expect(chosen).toMatchObject({ ...byThreads, obtainNs: 0.6e9 });
    expect(chosen.timesAsFast).toBeCloseTo(7.87 / 0.6);
    expect(chosen.reason).toContain("huge pages, registered in 16 pieces by 16 threads, takes 550 ms");
    expect(chosen.reason).toContain("no copy may go from one piece into the next");
  });

  it("is not called the fastest where another one may be as fast", () => {
    const overlapping = [buildPool(byThreads, [0.57, 0.62, 0.98]), buildPool(inPieces, [0.65, 0.66, 0.67])];
    expect(recommended(overlapping)).toMatchObject({
      ...byThreads,
      reason:
        "It took the least time of those that were measured. Huge pages, registered in 16 pieces by 16 threads, with 660 ms, may be as fast: no copy may go from one piece into the next.",
    });
  });

  it("is a simpler one where the times overlap, however the medians lie", () => {
    const overlapping = [buildPool(byThreads, [0.5, 0.8, 0.9]), buildPool(inPieces, [0.45, 0.6, 0.95])];
    expect(recommended(overlapping)).toMatchObject(byThreads);
    const apart = [buildPool(byThreads, [0.8, 0.82, 0.9]), buildPool(inPieces, [0.45, 0.6, 0.7])];
    expect(recommended(apart)).toMatchObject(inPieces);
  });

  it("is not decided by a single odd time", () => {
    const odd = [
      buildPool(hostAlloc, [7.8, 7.9, 8, 8.1, 8.2]),
      buildPool(byThreads, [0.6, 0.6, 0.6, 0.61, 9]),
    ];
    expect(recommended(odd)).toMatchObject(byThreads);
  });

  it("is a simpler one, of those that were measured once, unless it takes half as long again", () => {
    expect(recommended([buildPool(byThreads, [0.7]), buildPool(inPieces, [0.5])])).toMatchObject(byThreads);
    expect(recommended([buildPool(byThreads, [0.8]), buildPool(inPieces, [0.5])])).toMatchObject(inPieces);
  });

  it("is cuMemHostAlloc where nothing is faster", () => {
    const pools = [buildPool(hostAlloc, [1, 1.01, 1.02]), buildPool(register, [1.2, 1.21, 1.22])];
    expect(recommended(pools)).toMatchObject({
      ...hostAlloc,
      timesAsFast: 1,
      reason: "Nothing that was measured is faster, and nothing is simpler.",
    });
  });

  it("does not need pages that root has set aside, unless these are worth it", () => {
    const times = [0.5, 0.51, 0.52];
    expect(recommended([buildPool(byThreads, [0.53, 0.54, 0.55]), buildPool(hugetlb, times)])).toMatchObject(
      byThreads,
    );
    expect(recommended([buildPool(byThreads, [0.9, 0.91, 0.92]), buildPool(hugetlb, times)])).toMatchObject(
      hugetlb,
    );
  });

  describe("is none from which copies are slower than from cuMemHostAlloc's memory", () => {
    const slow = { median: 40, least: 39, most: 41 };
    const registered = (
      seconds: readonly number[],
      rate: { median: number; least: number; most: number },
    ) => [
      buildPool(hostAlloc, [7.8, 7.9, 8]),
      buildPool(byThreads, [0.9, 0.91, 0.92]),
      buildPool(register, seconds, { d2hGigabytesPerSecond: rate }),
    ];
    const often = [0.5, 0.51, 0.52];

    it("however soon it is there", () => {
      const chosen = recommended(registered(often, slow))!;
      expect(chosen).toMatchObject(byThreads);
      expect(chosen.reason).toContain("copies from it or to it are slower");
    });

    it("of which a single quick copy makes no quick ones", () => {
      expect(recommended(registered(often, { ...slow, most: 55 }))).toMatchObject(byThreads);
    });

    it("but for a little that may be chance", () => {
      expect(recommended(registered(often, { median: 51, least: 40, most: 54 }))).toMatchObject(register);
      expect(recommended(registered(often, { median: 51, least: 40, most: 52 }))).toMatchObject(byThreads);
    });

    it("by the usual one of these copies, however quick a single one was", () => {
      const usual = { median: 55.3, least: 55.1, most: 80 };
      const pools = registered(often, { median: 53, least: 52, most: 54 });
      pools[0] = buildPool(hostAlloc, [7.8, 7.9, 8], { d2hGigabytesPerSecond: usual });
      expect(recommended(pools)).toMatchObject(register);
    });

    it("in either direction", () => {
      const back = buildPool(register, often, { h2dGigabytesPerSecond: slow });
      expect(recommended([...registered(often, slow).slice(0, 2), back])).toMatchObject(byThreads);
    });

    it("nor what may have been a bad moment", () => {
      expect(recommended(registered([0.5], slow))).toMatchObject(register);
      expect(recommended(registered([0.5], { ...slow, most: 30 }))).toMatchObject(byThreads);
    });

    it("or, where that was not measured, than from all others'", () => {
      expect(recommended(registered(often, slow).slice(1))).toMatchObject(byThreads);
    });
  });

  it("is that of the largest pool that was measured", () => {
    const pools = [
      buildPool(register, [0.01, 0.011, 0.012], { sizeBytes: GiB }),
      buildPool(hostAlloc, [0.5, 0.5, 0.5], { sizeBytes: GiB }),
      buildPool(byThreads, [0.6, 0.6, 0.6], { sizeBytes: 4 * GiB }),
      buildUnmeasured(register, "refused", "out of memory"),
    ];
    expect(recommended(pools)).toMatchObject({
      ...byThreads,
      sizeBytes: 4 * GiB,
      hostAllocNs: null,
      timesAsFast: null,
    });
  });

  it("is none where nothing was measured", () => {
    expect(recommended([])).toBeNull();
    expect(recommended([buildUnmeasured(register, "refused", "no")])).toBeNull();
  });
});

it("a way is told in words", () => {
  expect([hostAlloc, register, byThreads, inPieces, hugetlb].map(wayInWords)).toEqual([
    "cuMemHostAlloc",
    "ordinary pages, registered, touched by 1 thread",
    "huge pages, registered, touched by 16 threads",
    "huge pages, registered in 16 pieces by 16 threads",
    "pages of hugetlbfs, registered, touched by 16 threads",
  ]);
});
