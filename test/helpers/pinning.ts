import type { PinnedPool, Pinning, PoolShape } from "../../src/pin/pinning-document.js";
import { recommendPool } from "../../src/pin/recommend-pool.js";

const GiB = 1024 ** 3;

/** A pool of 16 GiB that took these seconds to obtain, each time. */
export function buildPool(
  shape: PoolShape,
  seconds: readonly number[],
  more: Partial<PinnedPool> = {},
): PinnedPool {
  const times = seconds.map((time) => time * 1e9).sort((a, b) => a - b);
  const isOneCall = shape.way === "host-alloc";
  const spread = (scale: number) => ({
    median: scale * times[Math.floor(times.length / 2)]!,
    least: scale * times[0]!,
    most: scale * times.at(-1)!,
  });
  const sizeBytes = more.sizeBytes ?? 16 * GiB;
  const rate = { median: 55.3, least: 55.1, most: 55.4 };
  const memory = (residentBytes: number) => ({ residentBytes, pinnedBytes: 0, lockedBytes: 0 });
  return {
    ...shape,
    sizeBytes,
    pagesOfNode: [],
    outcome: "measured",
    reason: null,
    error: null,
    samples: times.map((obtainNs) => ({
      obtainNs,
      touchNs: isOneCall ? null : obtainNs * 0.7,
      registerNs: isOneCall ? null : obtainNs * 0.29,
      releaseNs: obtainNs / 4,
    })),
    obtain: spread(1),
    release: spread(1 / 4),
    h2dGigabytesPerSecond: rate,
    d2hGigabytesPerSecond: rate,
    memory: { before: memory(2e8), held: memory(2e8 + sizeBytes), after: memory(2.01e8) },
    hugePageShare: isOneCall ? null : shape.way === "register" ? 0 : 1,
    ...more,
  };
}

/** A pool without figures. */
export function buildUnmeasured(
  shape: PoolShape,
  outcome: "refused" | "omitted",
  reason: string,
): PinnedPool {
  return {
    ...buildPool(shape, [1]),
    outcome,
    reason,
    error: outcome === "refused" ? { code: "CUDA_ERROR_OUT_OF_MEMORY", message: reason } : null,
    samples: [],
    obtain: null,
    release: null,
    h2dGigabytesPerSecond: null,
    d2hGigabytesPerSecond: null,
    memory: null,
    hugePageShare: null,
  };
}

/** Times of an H200 with 16 CPUs. */
export const h200Pools: PinnedPool[] = [
  buildPool({ way: "host-alloc", threads: 1 }, [7.87]),
  buildPool({ way: "register", threads: 1 }, [7.44]),
  buildPool({ way: "register", threads: 16 }, [1.28]),
  buildPool({ way: "register-huge", threads: 1 }, [2.53]),
  buildPool({ way: "register-huge", threads: 16 }, [0.6, 0.61, 0.59]),
];

/** A document of these pools. */
export function buildPinning(pools: PinnedPool[] = h200Pools, more: Partial<Pinning> = {}): Pinning {
  return {
    schemaVersion: 1,
    kind: "pinning",
    tool: { name: "pinbench", version: "0.1.0" },
    createdAt: "2026-11-22T10:00:00.000Z",
    wallNs: 48.2e9,
    status: "complete",
    error: null,
    backend: "cuda",
    notice: null,
    host: "node7",
    labels: {},
    device: {
      ordinal: 0,
      name: "NVIDIA H200",
      uuid: "GPU-1",
      pciBusId: "0000:00:06.0",
      link: {
        generation: 5,
        width: 16,
        maxGeneration: 5,
        maxWidth: 16,
        smClockMHz: 1980,
        memoryClockMHz: 3201,
      },
    },
    machine: {
      cpusUsable: 16,
      numaNode: null,
      memoryAvailableBytes: 180 * GiB,
      cgroupMemoryLimitBytes: null,
      memlockLimitBytes: 8 * 1024 ** 2,
      virtualization: "kvm",
      transparentHugePages: "madvise",
      hugetlbFreeBytes: 0,
      hugePageBytes: 2 * 1024 ** 2,
      maxPinnedBytes: 90 * GiB,
    },
    budgetNs: 60e9,
    pools,
    limits: [],
    recommendation: recommendPool(pools, 60e9),
    stalls: null,
    others: [],
    omitted: [],
    ...more,
  };
}
