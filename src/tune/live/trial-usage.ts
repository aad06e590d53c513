import { statfsSync } from "node:fs";
import { readText } from "../../host/files.js";
import type { Trial } from "../loader-probe.js";

/** Interval of reading the use of /dev/shm. */
const sampleMs = 100;

/** A trial's use of the machine, seen from outside the job. */
export type Usage = Pick<Trial, "sharedMemoryBytes" | "workerPrivateBytes" | "storageReadBytes">;

/** Use by the processes that make a trial's batches. */
export interface Makers {
  /** The workers of each rank, or its own process without workers. */
  ranks: readonly (readonly number[])[];
  hasWorkers: boolean;
}

/** Measures a trial's use until `end`. */
export class TrialUsage {
  readonly #sharedBefore: number | null;
  readonly #timer: NodeJS.Timeout;
  #sharedPeak = 0;
  /** Bytes that each process had read from storage before. */
  #readBefore = new Map<number, number>();

  /** `sharedMemoryBytesBefore`: of /dev/shm before the job was there. */
  constructor(sharedMemoryBytesBefore: number | null) {
    this.#sharedBefore = sharedMemoryBytesBefore;
    this.#timer = setInterval(() => this.#sample(), sampleMs);
    this.#timer.unref();
  }

  /** Called at the first batch: the previous setting's batches no longer count. */
  begin({ ranks }: Makers, areNew: boolean): void {
    this.#sharedPeak = 0;
    if (areNew) return;
    this.#readBefore = new Map(ranks.flat().map((pid) => [pid, readBytes(pid) ?? 0]));
  }

  end({ ranks, hasWorkers }: Makers): Usage {
    this.stop();
    this.#sample();
    const shared = this.#sharedBefore === null ? null : Math.max(0, this.#sharedPeak - this.#sharedBefore);
    const read = ranks.flat().map((pid) => difference(readBytes(pid), this.#readBefore.get(pid) ?? 0));
    return {
      sharedMemoryBytes: hasWorkers ? shared : 0,
      // One rank represents all, because the kernel takes long to answer.
      workerPrivateBytes: hasWorkers ? sum((ranks[0] ?? []).map(privateBytes)) : 0,
      storageReadBytes: sum(read),
    };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    this.#sharedPeak = Math.max(this.#sharedPeak, usedSharedMemoryBytes() ?? 0);
  }
}

/** Used bytes of /dev/shm, by all programs; null without it. */
export function usedSharedMemoryBytes(): number | null {
  try {
    const { blocks, bfree, bsize } = statfsSync("/dev/shm");
    return (blocks - bfree) * bsize;
  } catch {
    return null;
  }
}

/** Bytes that a process has read from storage; null if the kernel does not say. */
function readBytes(pid: number): number | null {
  const text = /^read_bytes: (\d+)$/m.exec(readText("/", `proc/${pid}/io`) ?? "")?.[1];
  return text === undefined ? null : Number(text);
}

/** Private memory of a process; null if the kernel does not say. */
function privateBytes(pid: number): number | null {
  const text = readText("/", `proc/${pid}/smaps_rollup`);
  if (text === null) return null;
  return [...text.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)].reduce(
    (bytes, [, kB]) => bytes + Number(kB) * 1024,
    0,
  );
}

function difference(now: number | null, before: number): number | null {
  return now === null ? null : Math.max(0, now - before);
}

function sum(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (total, value) => (total === null || value === null ? null : total + value),
    0,
  );
}
