import { doubled, formatMeasuredTime } from "../settings/units.js";
import type { PinnedPool, Pinning, PinningRecommendation, PoolShape } from "./pinning-document.js";
import { shapeId } from "./pool-shapes.js";

/**
 * A smaller gain does not justify a more complicated way: in another process, or on another day, it may be reversed
 * (the same way varies by some 5 % on machines with a GPU).
 */
const leastGain = 0.1;

/** Among pairs of times of both ways, at least this share must agree: one in five may be an outlier. */
const leastPairShare = 0.75;

/** With fewer times of either way, such a gain is enough: the ways in between are measured more often. */
const fewTimes = 3;
const gainOfFewTimes = 0.5;

/**
 * A pool is unsuitable, however quick, if the median or the quickest of its copies is below these shares of the rates
 * from cuMemHostAlloc's memory. A pool with fewer than three times may have met a bad moment: it is unsuitable if even
 * its quickest copy is below the lowest share.
 */
const leastRateShare = { median: 0.9, quickest: 0.95, quickestOfFewTimes: 0.7 } as const;

type MeasuredPool = PinnedPool & { obtain: NonNullable<PinnedPool["obtain"]> };

/**
 * The recommended way to obtain the largest measured pool: the simplest of those that are not certainly slower than the
 * fastest. Null if none was measured.
 */
export function recommendPool(pools: readonly PinnedPool[], budgetNs: number): PinningRecommendation | null {
  const ofSize = largestMeasured(pools);
  const sizeBytes = ofSize[0]?.sizeBytes;
  if (sizeBytes === undefined) return null;
  const wellCopied = ofSize.filter((pool) => copiesWell(pool, ofSize));
  const candidates = wellCopied.length > 0 ? wellCopied : ofSize;
  const fastest = candidates.reduce((best, pool) => (pool.obtain.median < best.obtain.median ? pool : best));
  const chosen = candidates
    .filter((pool) => !isCertainlySlower(pool, fastest))
    .reduce((best, pool) => (isSimpler(pool, best) ? pool : best));
  const hostAlloc = ofSize.find(isPlain) ?? null;
  const { way, threads } = chosen;
  return {
    ...{ way, threads, sizeBytes },
    obtainNs: chosen.obtain.median,
    hostAllocNs: hostAlloc?.obtain.median ?? null,
    timesAsFast: hostAlloc === null ? null : hostAlloc.obtain.median / chosen.obtain.median,
    reason: reasonFor(chosen, fastest, ofSize, budgetNs),
  };
}

/**
 * How much torch pins for the largest measured pool, because it rounds sizes up to a power of two. Null if the size is
 * one.
 */
export function torchRounding(pools: readonly PinnedPool[]): Pinning["torchRounding"] {
  const ofSize = largestMeasured(pools);
  const sizeBytes = ofSize[0]?.sizeBytes;
  if (sizeBytes === undefined) return null;
  const pinnedBytes = 2 ** Math.ceil(Math.log2(sizeBytes));
  if (pinnedBytes === sizeBytes) return null;
  const plain = ofSize.find(isPlain);
  const extraNs = plain === undefined ? null : (plain.obtain.median * (pinnedBytes - sizeBytes)) / sizeBytes;
  return { sizeBytes, pinnedBytes, extraNs };
}

function largestMeasured(pools: readonly PinnedPool[]): MeasuredPool[] {
  const measured = pools.filter((pool): pool is MeasuredPool => pool.obtain !== null);
  const sizeBytes = Math.max(...measured.map((pool) => pool.sizeBytes));
  return measured.filter((pool) => pool.sizeBytes === sizeBytes);
}

/** If cuMemHostAlloc's memory was not measured, all others replace it. */
function copiesWell(pool: MeasuredPool, all: readonly MeasuredPool[]): boolean {
  const plain = all.filter(isPlain);
  const references = plain.length > 0 ? plain : all;
  return references.every((reference) =>
    (["h2dGigabytesPerSecond", "d2hGigabytesPerSecond"] as const).every((key) => {
      const [own, usual] = [pool[key], reference[key]];
      if (own === null || usual === null) return true;
      const [median, quickest] = [own.median / usual.median, own.most / usual.median];
      return hasFewTimes(pool)
        ? quickest >= leastRateShare.quickestOfFewTimes
        : median >= leastRateShare.median && quickest >= leastRateShare.quickest;
    }),
  );
}

function hasFewTimes(...pools: readonly MeasuredPool[]): boolean {
  return pools.some(({ samples }) => samples.length < fewTimes);
}

/** The way in which programs have always obtained pinned memory. */
function isPlain({ way }: PoolShape): boolean {
  return way === "host-alloc";
}

/** Not by chance, and large enough to matter. */
function isCertainlySlower(pool: MeasuredPool, fastest: MeasuredPool): boolean {
  const gain = pool.obtain.median / fastest.obtain.median - 1;
  if (hasFewTimes(pool, fastest)) return gain > gainOfFewTimes;
  const pairs = pool.samples.flatMap((one) => fastest.samples.map((other) => one.obtainNs > other.obtainNs));
  return gain > leastGain && pairs.filter(Boolean).length >= pairs.length * leastPairShare;
}

function isSimpler(one: MeasuredPool, other: MeasuredPool): boolean {
  const [a, b] = [trouble(one), trouble(other)];
  return a < b || (a === b && one.obtain.median < other.obtain.median);
}

/** The effort that a way requires of a program, each kind more than all of the next. */
function trouble({ way, threads }: PoolShape): number {
  const reserved = way === "register-hugetlb" ? 8 : 0;
  return reserved + (threads > 1 ? 4 : 0) + (way === "register-huge" ? 2 : way === "register" ? 1 : 0);
}

function reasonFor(
  chosen: MeasuredPool,
  fastest: MeasuredPool,
  ofSize: readonly MeasuredPool[],
  budgetNs: number,
): string {
  const took = (pool: MeasuredPool) => `${wayInWords(pool)}: ${formatMeasuredTime(pool.obtain.median)}`;
  const skipped = ofSize.find(
    (pool) => pool.obtain.median < fastest.obtain.median && !copiesWell(pool, ofSize),
  );
  if (skipped !== undefined) return `Quicker, but with slower copies: ${took(skipped)}.`;
  if (shapeId(chosen) === shapeId(fastest)) return "It is the fastest of the measured methods.";
  return chosen.obtain.median <= (1 + leastGain) * fastest.obtain.median
    ? `Simpler and hardly slower than ${took(fastest)}.`
    : `Simpler; undecided whether ${took(fastest)} is quicker. Use --budget ${doubled(budgetNs)}.`;
}

const names = {
  "host-alloc": "cuMemHostAlloc",
  register: "ordinary pages, registered",
  "register-huge": "huge pages, registered",
  "register-hugetlb": "pages of hugetlbfs, registered",
} as const satisfies Record<PoolShape["way"], string>;

/** "huge pages, registered, touched by 16 threads". */
export function wayInWords({ way, threads }: PoolShape): string {
  if (way === "host-alloc") return names[way];
  return `${names[way]}, touched by ${threads === 1 ? "1 thread" : `${threads} threads`}`;
}
