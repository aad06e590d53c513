import { distribution, median } from "../stats/order-statistics.js";
import type { PinnedPool, PoolShape } from "./pinning-document.js";
import type { PoolSample } from "./pool-bench.js";
import { shapeId } from "./pool-shapes.js";

/** A size and a method, with the results so far. */
export class PoolObservations {
  readonly sizeBytes: number;
  readonly shape: PoolShape;
  readonly samples: PoolSample[] = [];
  error: { code: string; message: string } | null = null;
  /** Why it was refused or omitted; otherwise null. */
  reason: string | null = null;
  /** Time of one whole measurement in milliseconds; null before the first. */
  roundMs: number | null = null;

  constructor(sizeBytes: number, shape: PoolShape) {
    this.sizeBytes = sizeBytes;
    this.shape = shape;
  }

  get id(): string {
    return shapeId(this.shape);
  }

  get isMeasured(): boolean {
    return this.samples.length > 0;
  }

  /** Median time to allocate it in ns; infinite before it is measured. */
  get obtainNs(): number {
    return this.isMeasured ? median(this.samples.map(({ obtainNs }) => obtainNs)) : Number.POSITIVE_INFINITY;
  }

  record(): PinnedPool {
    const { samples, sizeBytes, shape, error, reason } = this;
    const last = samples.at(-1);
    const rate = (times: (sample: PoolSample) => readonly number[]) =>
      spreadOf(samples.flatMap((sample) => times(sample).map((ns) => sample.copyBytes / ns)));
    return {
      ...shape,
      sizeBytes,
      outcome: this.isMeasured ? "measured" : error === null ? "omitted" : "refused",
      reason: this.isMeasured ? null : (reason ?? "not reached before the end"),
      error: this.isMeasured ? null : error,
      samples: samples.map(({ obtainNs, touchNs, registerNs, releaseNs }) => ({
        ...{ obtainNs, touchNs, registerNs, releaseNs },
      })),
      obtain: spreadOf(samples.map(({ obtainNs }) => obtainNs)),
      release: spreadOf(samples.map(({ releaseNs }) => releaseNs)),
      h2dGigabytesPerSecond: rate(({ h2dNs }) => h2dNs),
      d2hGigabytesPerSecond: rate(({ d2hNs }) => d2hNs),
      memory: last?.memory ?? null,
      hugePageShare: last?.hugePageShare ?? null,
      pagesOfNode: last?.pagesOfNode ?? [],
    };
  }
}

function spreadOf(figures: readonly number[]): PinnedPool["obtain"] {
  if (figures.length === 0) return null;
  const { median: middle, min, max } = distribution(figures);
  return { median: middle, least: min, most: max };
}
