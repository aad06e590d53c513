import { describe, expect, it } from "vitest";
import type { PinnedPool, PoolShape } from "../../src/pin/pinning-document.js";
import { recommendPool, torchRounding, wayInWords } from "../../src/pin/recommend-pool.js";
import { buildPool, buildUnmeasured, h200Pools } from "../helpers/pinning.js";

const GiB = 1024 ** 3;
const recommended = (pools: PinnedPool[]) =>
  recommendPool(pools, { device: 0, numaNode: null, hugePageBytes: 2 ** 21 });
const hostAlloc = { way: "host-alloc", pieces: 1, threads: 1 } as const;
const register = { way: "register", pieces: 1, threads: 1 } as const;
const byThreads = { way: "register-huge", pieces: 1, threads: 16 } as const;
const inPieces = { way: "register-huge", pieces: 16, threads: 16 } as const;
const hugetlb = { way: "register-hugetlb", pieces: 1, threads: 16 } as const;

describe("the way that is recommended", () => {
  it("is the fastest if nothing simpler comes near", () => {
    const pools = [
      buildPool(hostAlloc, [7.9]),
      buildPool(byThreads, [0.9, 0.91, 0.92]),
      buildPool(inPieces, [0.55, 0.56, 0.57]),
    ];
    expect(recommended(pools)).toMatchObject({
      ...inPieces,
      obtainNs: 0.56e9,
      hostAllocNs: 7.9e9,
      reason: "It is the fastest of the measured ways.",
    });
  });

  it("is a simpler one if the gain is too small to be worth the trouble", () => {
    const chosen = recommended(h200Pools)!;
    expect(chosen).toMatchObject({ ...byThreads, obtainNs: 0.6e9 });
    expect(chosen.timesAsFast).toBeCloseTo(7.87 / 0.6);
    expect(chosen.reason).toContain("huge pages, registered in 16 pieces by 16 threads, takes 550 ms");
    expect(chosen.reason).toContain("no copy may go from one piece into the next");
  });

  it("is not called the fastest if another one may be as fast", () => {
    const overlapping = [buildPool(byThreads, [0.57, 0.62, 0.98]), buildPool(inPieces, [0.65, 0.66, 0.67])];
    expect(recommended(overlapping)).toMatchObject({
      ...byThreads,
      reason:
        "It took the least time of the measured ways. Huge pages, registered in 16 pieces by 16 threads, with 660 ms, may be as fast: no copy may go from one piece into the next.",
    });
  });

  it("is a simpler one if the times overlap, however the medians lie", () => {
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

  it("is cuMemHostAlloc if nothing is faster", () => {
    const pools = [buildPool(hostAlloc, [1, 1.01, 1.02]), buildPool(register, [1.2, 1.21, 1.22])];
    expect(recommended(pools)).toMatchObject({
      ...hostAlloc,
      timesAsFast: 1,
      reason: "No measured way is faster, and none is simpler.",
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
      expect(chosen.reason).toContain("is there in 510 ms, but copies from it or to it are slower");
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

    it("which begins below 90 % of its median or 95 % of its median with the quickest", () => {
      const at50 = { median: 50, least: 50, most: 50 };
      const chosenAt = (seconds: readonly number[], rate: { median: number; most: number }) =>
        recommended([
          buildPool(hostAlloc, [7.8, 7.9, 8], { h2dGigabytesPerSecond: at50, d2hGigabytesPerSecond: at50 }),
          buildPool(byThreads, [0.9, 0.91, 0.92], { d2hGigabytesPerSecond: at50 }),
          buildPool(register, seconds, { d2hGigabytesPerSecond: { least: 20, ...rate } }),
        ]);
      expect(chosenAt(often, { median: 45, most: 47.5 })).toMatchObject(register);
      expect(chosenAt(often, { median: 44.9, most: 47.5 })).toMatchObject(byThreads);
      expect(chosenAt(often, { median: 45, most: 47.4 })).toMatchObject(byThreads);
      expect(chosenAt([0.5], { median: 20, most: 35 })).toMatchObject(register);
      expect(chosenAt([0.5], { median: 20, most: 34.9 })).toMatchObject(byThreads);
    });

    it("however much quicker others are than that", () => {
      const quick = { median: 70, least: 70, most: 70 };
      const rates = { h2dGigabytesPerSecond: quick, d2hGigabytesPerSecond: quick };
      const [usual, , quickly] = registered(often, { median: 55.3, least: 55.1, most: 55.4 });
      const others = [
        buildPool({ ...hostAlloc, pieces: 16, threads: 16 }, [5], rates),
        buildPool(byThreads, [0.9, 0.91, 0.92], rates),
      ];
      expect(recommended([usual!, ...others, quickly!])).toMatchObject(register);
    });

    it("as far as copies were timed", () => {
      const untimed = { h2dGigabytesPerSecond: null, d2hGigabytesPerSecond: null };
      const [usual, second] = registered(often, slow);
      expect(recommended([usual!, second!, buildPool(register, often, untimed)])).toMatchObject(register);
      const usualUntimed = buildPool(hostAlloc, [7.8, 7.9, 8], untimed);
      expect(recommended([usualUntimed, second!, buildPool(register, often)])).toMatchObject(register);
    });

    it("unless each is slower than another, in one direction or the other", () => {
      const pools = [
        buildPool(register, often, { d2hGigabytesPerSecond: slow }),
        buildPool(byThreads, [0.9, 0.91, 0.92], { h2dGigabytesPerSecond: slow }),
      ];
      expect(recommended(pools)).toMatchObject(register);
    });

    it("and is not mentioned if it takes no less time", () => {
      for (const seconds of [
        [2, 2.1, 2.2],
        [0.9, 0.91, 0.92],
      ]) {
        expect(recommended(registered(seconds, slow))!.reason).not.toContain("longer wait");
      }
    });

    it("or, if that was not measured, than from all others'", () => {
      expect(recommended(registered(often, slow).slice(1))).toMatchObject(byThreads);
    });
  });

  it("is the simplest of ways that take about as long, in whichever order they were measured", () => {
    const simplestFirst = [
      hostAlloc,
      register,
      { way: "register-huge", pieces: 1, threads: 1 },
      { way: "register", pieces: 1, threads: 16 },
      byThreads,
      { way: "host-alloc", pieces: 16, threads: 16 },
      { way: "register", pieces: 16, threads: 16 },
      inPieces,
      { way: "register-hugetlb", pieces: 1, threads: 1 },
      hugetlb,
    ] as const;
    for (const [i, shape] of simplestFirst.slice(0, -1).entries()) {
      const pair = [buildPool(shape, [1.05, 1.06, 1.07]), buildPool(simplestFirst[i + 1]!, [1, 1.01, 1.02])];
      expect(recommended(pair)).toMatchObject(shape);
      expect(recommended(pair.reverse())).toMatchObject(shape);
    }
  });

  it("is the faster of two that ask for the same", () => {
    const pair = [
      buildPool({ ...byThreads, threads: 8 }, [0.62, 0.63, 0.64]),
      buildPool(byThreads, [0.6, 0.61, 0.62]),
    ];
    expect(recommended(pair)).toMatchObject({ threads: 16 });
    expect(recommended(pair.reverse())).toMatchObject({ threads: 16 });
  });

  it("is the faster one from three of four pairs of times on", () => {
    const usual = buildPool(byThreads, [2, 2, 2, 2]);
    expect(recommended([usual, buildPool(inPieces, [1, 1, 1, 2])])).toMatchObject(inPieces);
    expect(recommended([buildPool(byThreads, [2, 2, 2]), buildPool(inPieces, [1, 1, 2])])).toMatchObject(
      byThreads,
    );
  });

  it("goes by half as long again if only one of the two was measured often", () => {
    const often = [0.7, 0.7, 0.7];
    expect(recommended([buildPool(byThreads, often), buildPool(inPieces, [0.5])])).toMatchObject(byThreads);
    expect(recommended([buildPool(byThreads, [0.75]), buildPool(inPieces, [0.5])])).toMatchObject(byThreads);
  });

  it("says what the fastest way would take beside", () => {
    const reasonOf = (chosen: PoolShape, fastest: PoolShape) =>
      recommended([buildPool(chosen, [1.05, 1.06, 1.07]), buildPool(fastest, [1, 1.01, 1.02])])!.reason;
    expect(reasonOf(byThreads, hugetlb)).toContain(": root has to reserve its pages, and the difference");
    expect(reasonOf(hugetlb, { ...hugetlb, pieces: 16 })).toContain(": no copy may go from one piece into");
    expect(reasonOf({ ...byThreads, threads: 1 }, byThreads)).toContain(": it takes threads,");
    expect(reasonOf(register, { ...byThreads, threads: 1 })).toContain(": it takes more code,");
    expect(reasonOf({ ...byThreads, way: "register" }, byThreads)).toContain(": it takes more code,");
    // Both take threads.
    const byFewer = { ...byThreads, way: "register", threads: 4 } as const;
    expect(reasonOf(byFewer, byThreads)).toContain(": it takes more code,");
    expect(reasonOf({ ...inPieces, way: "host-alloc", pieces: 2 }, inPieces)).toContain(
      ": it takes more code,",
    );
  });

  it("names the next best of those that may be as fast", () => {
    const { reason } = recommended([
      buildPool(byThreads, [0.57, 0.62, 0.98]),
      buildPool(inPieces, [0.66, 0.67, 0.68]),
      buildPool({ way: "host-alloc", pieces: 8, threads: 8 }, [0.63, 0.64, 0.65]),
    ])!;
    expect(reason).toContain("cuMemHostAlloc in 8 pieces by 8 threads, with 640 ms, may be as fast");
  });

  it("comes with programs in both languages", () => {
    const { code } = recommended([buildPool(hostAlloc, [1, 1, 1])])!;
    expect(code.c).toContain("cudaHostAlloc");
    expect(code.python).toContain("import ");
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

  it("is none if nothing was measured", () => {
    expect(recommended([])).toBeNull();
    expect(recommended([buildUnmeasured(register, "refused", "no")])).toBeNull();
  });
});

it("a way is described in words", () => {
  expect([hostAlloc, register, byThreads, inPieces, hugetlb].map(wayInWords)).toEqual([
    "cuMemHostAlloc",
    "ordinary pages, registered, touched by 1 thread",
    "huge pages, registered, touched by 16 threads",
    "huge pages, registered in 16 pieces by 16 threads",
    "pages of hugetlbfs, registered, touched by 16 threads",
  ]);
});

it("torch pins the next power of two, which takes cuMemHostAlloc longer in proportion", () => {
  const sizeBytes = 20 * GiB;
  const huge = buildPool(byThreads, [0.8], { sizeBytes });
  const smaller = buildPool(hostAlloc, [1], { sizeBytes: 4 * GiB });
  expect(torchRounding([smaller, buildPool(hostAlloc, [5], { sizeBytes }), huge])).toEqual({
    ...{ sizeBytes, pinnedBytes: 32 * GiB, extraNs: 3e9 },
  });
  expect(torchRounding([smaller, huge])).toMatchObject({ pinnedBytes: 32 * GiB, extraNs: null });
  expect(torchRounding([huge, buildPool(byThreads, [1], { sizeBytes: 32 * GiB })])).toBeNull();
  expect(torchRounding([buildUnmeasured(hostAlloc, "omitted", "no time")])).toBeNull();
});
