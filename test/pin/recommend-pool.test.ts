import { describe, expect, it } from "vitest";
import type { PinnedPool, PoolShape } from "../../src/pin/pinning-document.js";
import { recommendPool, torchRounding, wayInWords } from "../../src/pin/recommend-pool.js";
import { buildPool, buildUnmeasured, h200Pools } from "../helpers/pinning.js";

const GiB = 1024 ** 3;
const recommended = (pools: readonly PinnedPool[]) => recommendPool([...pools], 60e9);
const hostAlloc = { way: "host-alloc", threads: 1 } as const;
const register = { way: "register", threads: 1 } as const;
const byThreads = { way: "register", threads: 16 } as const;
const hugeByThreads = { way: "register-huge", threads: 16 } as const;
const hugetlb = { way: "register-hugetlb", threads: 16 } as const;

/** Simplest first: each asks less of a program than those after it. */
const simplestFirst: readonly PoolShape[] = [
  ...[hostAlloc, register, { ...hugeByThreads, threads: 1 }, byThreads, hugeByThreads],
  ...[{ ...hugetlb, threads: 1 }, hugetlb],
];

const around = (seconds: number) => [seconds, seconds + 0.01, seconds + 0.02];
/** Two ways, of which the first takes 5 % longer. */
const alike = (one: PoolShape, other: PoolShape) => [
  buildPool(one, around(1.05)),
  buildPool(other, around(1)),
];

const rate = (median: number, least = median, most = median) => ({ median, least, most });
const slow = rate(40, 39, 41);
const often = around(0.5);
/** Of which registered memory is there first, with copies from it that have this rate. */
const registered = (seconds: readonly number[], d2hGigabytesPerSecond: ReturnType<typeof rate>) => [
  buildPool(hostAlloc, [7.8, 7.9, 8]),
  buildPool(byThreads, around(0.9)),
  buildPool(register, seconds, { d2hGigabytesPerSecond }),
];
const at50 = { h2dGigabytesPerSecond: rate(50), d2hGigabytesPerSecond: rate(50) };
const besideOf50 = (seconds: readonly number[], median: number, most: number) => [
  ...[buildPool(hostAlloc, [7.8, 7.9, 8], at50), buildPool(byThreads, around(0.9), at50)],
  buildPool(register, seconds, { ...at50, d2hGigabytesPerSecond: rate(median, 20, most) }),
];
const untimed = { h2dGigabytesPerSecond: null, d2hGigabytesPerSecond: null };
const pair = (usual: readonly number[], fast: readonly number[], fastShape: PoolShape = hugeByThreads) => [
  ...[buildPool(byThreads, usual), buildPool(fastShape, fast)],
];
const [usualPool, secondPool, registeredPool] = registered(often, slow) as [
  PinnedPool,
  PinnedPool,
  PinnedPool,
];

const situations: [situation: string, pools: readonly PinnedPool[], chosen: PoolShape][] = [
  ["nothing simpler comes near", [usualPool, ...pair(around(0.9), around(0.55))], hugeByThreads],
  ["pools of an H200", h200Pools, hugeByThreads],
  ["another method may be as fast", pair([0.57, 0.62, 0.98], [0.65, 0.66, 0.67]), byThreads],
  ["the times overlap", pair([0.5, 0.8, 0.9], [0.45, 0.6, 0.95]), byThreads],
  ["the times lie apart", pair([0.8, 0.82, 0.9], [0.45, 0.6, 0.7]), hugeByThreads],
  [
    "there is a single odd time",
    [buildPool(hostAlloc, [7.8, 7.9, 8, 8.1, 8.2]), buildPool(byThreads, [0.6, 0.6, 0.6, 0.61, 9])],
    byThreads,
  ],
  ["three of four pairs of times are faster", pair([2, 2, 2, 2], [1, 1, 1, 2]), hugeByThreads],
  ["two of three pairs of times are faster", pair([2, 2, 2], [1, 1, 2]), byThreads],
  ["both were measured once, and one takes less than half as long again", pair([0.7], [0.5]), byThreads],
  ["both were measured once, and one takes more than that", pair([0.8], [0.5]), hugeByThreads],
  ["only the simpler was measured often", pair([0.7, 0.7, 0.7], [0.5]), byThreads],
  ["one takes half as long again, to the bound", pair([0.75], [0.5]), byThreads],
  [
    "nothing is faster than cuMemHostAlloc",
    [buildPool(hostAlloc, around(1)), buildPool(register, around(1.2))],
    hostAlloc,
  ],
  ["pages that root has set aside gain little", pair(around(0.53), often, hugetlb), byThreads],
  ["pages that root has set aside are worth it", pair(around(0.9), often, hugetlb), hugetlb],
  [
    "the faster of two for the same request",
    [buildPool({ ...byThreads, threads: 8 }, around(0.62)), buildPool(byThreads, around(0.6))],
    byThreads,
  ],
  [
    "the largest pool that was measured",
    [
      buildPool(register, [0.01, 0.011, 0.012], { sizeBytes: GiB }),
      buildPool(hostAlloc, [0.5, 0.5, 0.5], { sizeBytes: GiB }),
      buildPool(byThreads, [0.6, 0.6, 0.6], { sizeBytes: 4 * GiB }),
      buildUnmeasured(register, "refused", "out of memory"),
    ],
    byThreads,
  ],
  ...simplestFirst.slice(1).map((other, i): [string, PinnedPool[], PoolShape] => {
    const one = simplestFirst[i]!;
    return [`${wayInWords(one)} before ${wayInWords(other)}`, alike(one, other), one];
  }),
  ["copies are slower", registered(often, slow), byThreads],
  ["copies are slower but for one", registered(often, { ...slow, most: 55 }), byThreads],
  [
    "copies are slower in the other direction",
    [usualPool, secondPool, buildPool(register, often, { h2dGigabytesPerSecond: slow })],
    byThreads,
  ],
  ["copies may be slower by chance", registered(often, rate(51, 40, 54)), register],
  ["copies are a little slower, each of them", registered(often, rate(51, 40, 52)), byThreads],
  [
    "copies are as fast as the usual one of cuMemHostAlloc",
    [
      buildPool(hostAlloc, [7.8, 7.9, 8], { d2hGigabytesPerSecond: rate(55.3, 55.1, 80) }),
      ...registered(often, rate(53, 52, 54)).slice(1),
    ],
    register,
  ],
  ["copies were slow once, which may be a bad moment", registered([0.5], slow), register],
  ["copies were far slower once", registered([0.5], { ...slow, most: 30 }), byThreads],
  [
    "copies reach 90 % of cuMemHostAlloc's median rate, and the fastest copy 95 %",
    besideOf50(often, 45, 47.5),
    register,
  ],
  ["copies reach less than 90 % of cuMemHostAlloc's median rate", besideOf50(often, 44.9, 47.5), byThreads],
  [
    "the fastest copy reaches less than 95 % of cuMemHostAlloc's median rate",
    besideOf50(often, 45, 47.4),
    byThreads,
  ],
  ["the fastest copy of a pool that was allocated once has 70 %", besideOf50([0.5], 20, 35), register],
  ["the fastest copy of a pool that was allocated once has less", besideOf50([0.5], 20, 34.9), byThreads],
  ["copies were not timed", [usualPool, secondPool, buildPool(register, often, untimed)], register],
  [
    "copies of cuMemHostAlloc were not timed",
    [buildPool(hostAlloc, [7.8, 7.9, 8], untimed), secondPool, buildPool(register, often)],
    register,
  ],
  [
    "each is slower than another, one way or the other",
    [registeredPool, buildPool(byThreads, around(0.9), { h2dGigabytesPerSecond: slow })],
    register,
  ],
  ["copies are slower, and the pool is later too", registered([2, 2.1, 2.2], slow), byThreads],
  ["copies are slower, and the pool is no sooner", registered(around(0.9), slow), byThreads],
  ["copies are slower than all others'", [secondPool, registeredPool], byThreads],
];

describe("the recommended method", () => {
  it.each(situations)("is $2 in this situation: %s", (_, pools, chosen) => {
    expect(recommended(pools)).toMatchObject(chosen);
    expect(recommended(pools.toReversed())).toMatchObject(chosen);
  });

  it("has times and a reason that match its snapshot", async () => {
    const texts = situations.map(([situation, pools]) => {
      const { reason, ...figures } = recommended(pools)!;
      return `${situation}: ${JSON.stringify(figures)}\n  ${reason}\n`;
    });
    await expect(texts.join("\n")).toMatchFileSnapshot("snapshots/recommendations.txt");
  });

  it("is null if no pool was measured", () => {
    expect(recommended([])).toBeNull();
    expect(recommended([buildUnmeasured(register, "refused", "no")])).toBeNull();
  });
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
