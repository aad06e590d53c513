/** How fast the host's memory is at this moment, for one thread; in bytes a nanosecond (GB/s). */
export interface MemorySpeed {
  /** Writing pages that the kernel has not handed out before. */
  firstTouchGBps: number;
  /** From memory to memory, too much for a CPU's own caches. */
  copyGBps: number;
}

/** Together some 12 ms where pages are handed out at 1.3 GB/s. */
const pieceBytes = 1024 * 1024;
const pieces = 8;

/** The first are slow, as a CPU that has idled is; then the rate of one differs from that of the next by a fifth. */
const copyRepetitions = 7;

/**
 * Measures it, in some 20 ms: for an estimate, and no figure of a result depends on it. The middle rate of the pieces and of
 * the copies counts: a run that takes seconds meets good moments and bad ones.
 */
export function measureMemorySpeed(): MemorySpeed {
  const [source, destination] = [allocate(), allocate()];
  const touchNs = [source, destination].flatMap((memory) =>
    Array.from({ length: pieces }, (_, i) =>
      timeNs(() => memory.fill(1, i * pieceBytes, (i + 1) * pieceBytes)),
    ),
  );
  const copyNs = Array.from({ length: copyRepetitions }, () => timeNs(() => source.copy(destination)));
  return {
    firstTouchGBps: pieceBytes / middleOf(touchNs),
    copyGBps: (pieces * pieceBytes) / middleOf(copyNs),
  };
}

function middleOf(timesNs: readonly number[]): number {
  return timesNs.toSorted((a, b) => a - b)[Math.floor(timesNs.length / 2)]!;
}

/** Of its own, and not of a pool that has been used before. */
function allocate(): Buffer {
  return Buffer.allocUnsafeSlow(pieces * pieceBytes);
}

function timeNs(action: () => unknown): number {
  const startedMs = performance.now();
  action();
  // The clock may have been too coarse for it.
  return Math.max(1e3, (performance.now() - startedMs) * 1e6);
}
