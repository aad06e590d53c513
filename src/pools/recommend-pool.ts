import { formatDuration } from "../settings/units.js";
import type { PinnedPool, PinningRecommendation, PoolShape } from "./pinning-document.js";
import { poolCode } from "./pool-code.js";
import { shapeId } from "./pool-shapes.js";

/**
 * Less than this is not worth a way that is more trouble: another process, or another day, may have it the other way
 * round (the same way differs by some 5 % from time to time on machines with a GPU).
 */
const leastGain = 0.1;

/** Pools whose copies are slower by more than this than those of another way are no good, however soon they are there. */
const leastRateShare = 0.95;

/** A pool that was measured. */
type Measured = PinnedPool & { obtain: NonNullable<PinnedPool["obtain"]> };

/**
 * The way to obtain the largest pool that was measured: the simplest of those that are not certainly slower than the
 * fastest. Null where none was measured.
 */
export function recommendPool(pools: readonly PinnedPool[]): PinningRecommendation | null {
  const measured = pools.filter((pool): pool is Measured => pool.obtain !== null);
  if (measured.length === 0) return null;
  const sizeBytes = Math.max(...measured.map((pool) => pool.sizeBytes));
  const ofSize = measured.filter((pool) => pool.sizeBytes === sizeBytes);
  const wellCopied = ofSize.filter((pool) => copiesWell(pool, ofSize));
  const candidates = wellCopied.length > 0 ? wellCopied : ofSize;
  const fastest = candidates.reduce((best, pool) => (pool.obtain.median < best.obtain.median ? pool : best));
  const chosen = candidates
    .filter((pool) => !isCertainlySlower(pool, fastest))
    .reduce((best, pool) => (isSimpler(pool, best) ? pool : best));
  const hostAlloc = ofSize.find(({ way, pieces }) => way === "host-alloc" && pieces === 1) ?? null;
  const { way, pieces, threads } = chosen;
  return {
    ...{ way, pieces, threads, sizeBytes },
    obtainNs: chosen.obtain.median,
    hostAllocNs: hostAlloc?.obtain.median ?? null,
    timesAsFast: hostAlloc === null ? null : hostAlloc.obtain.median / chosen.obtain.median,
    reason: reasonFor(chosen, fastest, ofSize),
    code: poolCode(chosen, sizeBytes),
  };
}

function copiesWell(pool: Measured, all: readonly Measured[]): boolean {
  return (["h2dGigabytesPerSecond", "d2hGigabytesPerSecond"] as const).every((key) => {
    const best = Math.max(...all.map((other) => other[key] ?? 0));
    return (pool[key] ?? best) >= best * leastRateShare;
  });
}

/** Not by chance: every time it took longer than the other one ever did, and by so much that it matters. */
function isCertainlySlower(pool: Measured, fastest: Measured): boolean {
  return (
    pool.obtain.least > fastest.obtain.most && pool.obtain.median > fastest.obtain.median * (1 + leastGain)
  );
}

function isSimpler(one: Measured, other: Measured): boolean {
  const [a, b] = [trouble(one), trouble(other)];
  return a < b || (a === b && one.obtain.median < other.obtain.median);
}

/**
 * What a way asks of a program, of each kind more than all of the next: pages that root has set aside; memory in pieces,
 * across which no copy may go; threads; huge pages; memory of its own.
 */
function trouble({ way, pieces, threads }: PoolShape): number {
  return (
    (way === "register-hugetlb" ? 16 : 0) +
    (pieces > 1 ? 8 : 0) +
    (threads > 1 ? 4 : 0) +
    (way === "register-huge" ? 2 : 0) +
    (way === "register" ? 1 : 0)
  );
}

function reasonFor(chosen: Measured, fastest: Measured, ofSize: readonly Measured[]): string {
  const skipped = ofSize.find(
    (pool) => pool.obtain.median < chosen.obtain.median && !copiesWell(pool, ofSize),
  );
  if (skipped !== undefined) {
    return `It is the fastest of those from which copies are as fast as any: ${wayInWords(skipped)} is there in ${formatDuration(skipped.obtain.median)}, but copies more slowly.`;
  }
  if (shapeId(chosen) === shapeId(fastest)) {
    return chosen.way === "host-alloc" && chosen.pieces === 1
      ? "Nothing else is faster, and nothing is simpler."
      : "It is the fastest way of those that were measured.";
  }
  return `The fastest, ${wayInWords(fastest)}, takes ${formatDuration(fastest.obtain.median)}: not certainly so much less that it is worth the trouble.`;
}

const names = {
  "host-alloc": "cuMemHostAlloc",
  register: "ordinary pages, registered",
  "register-huge": "huge pages, registered",
  "register-hugetlb": "pages of hugetlbfs, registered",
} as const satisfies Record<PoolShape["way"], string>;

/** "huge pages, registered, touched by 16 threads", "cuMemHostAlloc in 16 pieces by 16 threads". */
export function wayInWords({ way, pieces, threads }: PoolShape): string {
  const by = threads === 1 ? "1 thread" : `${threads} threads`;
  if (pieces > 1) return `${names[way]} in ${pieces} pieces by ${by}`;
  return way === "host-alloc" ? names[way] : `${names[way]}, touched by ${by}`;
}
