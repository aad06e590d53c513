import { doubled, formatMeasuredTime } from "../settings/units.js";
import type { PinnedPool, Pinning, PinningRecommendation, PoolShape } from "./pinning-document.js";
import { shapeId } from "./pool-shapes.js";

/**
 * Smaller gains do not justify a more complicated method: they may be reversed in another process or on another day (a
 * method varies by some 5 % on machines with a GPU).
 */
const leastGain = 0.1;

/** At least this share of pairs, a time of each method, must agree: one time in five may be an outlier. */
const leastPairShare = 0.75;

/** With fewer times of either method, `gainOfFewTimes` decides: closer methods are measured more often. */
const fewTimes = 3;
const gainOfFewTimes = 0.5;

/**
 * Minimum copy rates (median and fastest), relative to memory from cuMemHostAlloc; slower pools are unsuitable. A pool
 * with fewer than three times may have been disturbed, so only its fastest copy counts, with the lowest minimum.
 */
const leastRateShare = { median: 0.9, quickest: 0.95, quickestOfFewTimes: 0.7 } as const;

type MeasuredPool = PinnedPool & { obtain: NonNullable<PinnedPool["obtain"]> };

/**
 * The recommended method for the largest measured pool: the simplest one that is not certainly slower than the fastest.
 * Null if none was measured.
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
 * Size that torch pins for the largest measured pool: it rounds up to a power of two. Null if the size already is one.
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

/**
 * Whether copies are fast enough, compared with memory from cuMemHostAlloc, or with all pools if it was not measured.
 */
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

/** Whether this is cuMemHostAlloc, the usual method. */
function isPlain({ way }: PoolShape): boolean {
  return way === "host-alloc";
}

/** Whether it is slower, not by chance, and enough to matter. */
function isCertainlySlower(pool: MeasuredPool, fastest: MeasuredPool): boolean {
  const gain = pool.obtain.median / fastest.obtain.median - 1;
  if (hasFewTimes(pool, fastest)) return gain > gainOfFewTimes;
  const pairs = pool.samples.flatMap((one) => fastest.samples.map((other) => one.obtainNs > other.obtainNs));
  return gain > leastGain && pairs.filter(Boolean).length >= pairs.length * leastPairShare;
}

function isSimpler(one: MeasuredPool, other: MeasuredPool): boolean {
  const [a, b] = [effort(one), effort(other)];
  return a < b || (a === b && one.obtain.median < other.obtain.median);
}

/** Effort that a method requires of a program; each kind of effort outweighs all later ones. */
function effort({ way, threads }: PoolShape): number {
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
