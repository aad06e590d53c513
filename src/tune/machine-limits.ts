import { statfsSync } from "node:fs";
import { join } from "node:path";
import { cpuQuota, usableCpuCount } from "../host/cpus.js";
import { memoryAvailableBytes } from "../host/memory.js";
import { batchesInFlight } from "../results/loader-setting.js";
import type { LoaderSetting, Tuning } from "../results/tuning.js";
import { formatSizeRounded } from "../settings/units.js";
import type { ProbeFacts } from "./loader-probe.js";

/** What the loaders of this node's training processes have to share. */
export type MachineLimits = Omit<Tuning["machine"], "hostname" | "cpuModel">;

/** The limits as they are now, read below `root`, which tests replace. */
export function machineLimits(ranks: number, root = "/"): MachineLimits {
  return {
    usableCpus: usableCpuCount(root),
    cpuQuota: cpuQuota(root),
    memoryAvailableBytes: memoryAvailableBytes(root),
    sharedMemoryBytes: freeSharedMemoryBytes(root),
    ranks,
  };
}

function freeSharedMemoryBytes(root: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(join(root, "dev/shm"));
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** CPUs that each of the node's processes may keep busy; at least 1. */
export function cpusPerRank({ usableCpus, ranks }: MachineLimits): number {
  return Math.max(1, Math.floor(usableCpus / ranks));
}

/** Pipes and queues of each worker in the training process. */
const filesPerWorker = 8;

/** A batch that is taken is given back only after the next one has come: two more than are in flight. */
const batchesBeyondFlight = 2;

/**
 * The bytes and file descriptors that a setting will take, as far as that is known before it is tried;
 * `workerBytes` is what a worker of earlier trials comes to own over an epoch, 0 before there was one.
 */
export function needOf(setting: LoaderSetting, facts: ProbeFacts, workerBytes: number) {
  const { numWorkers, pinMemory } = setting;
  const batches = batchesInFlight(setting) + batchesBeyondFlight;
  const sharedMemoryBytes = numWorkers === 0 ? 0 : batches * facts.batch.bytes;
  const pinnedBytes = pinMemory ? batches * pinnedBlockBytes(facts.batch.bytes) : 0;
  return {
    sharedMemoryBytes,
    memoryBytes: sharedMemoryBytes + pinnedBytes + numWorkers * workerBytes,
    files: numWorkers === 0 ? 0 : numWorkers * filesPerWorker + batches * facts.filesPerBatch,
  };
}

/** Pinned blocks are made in powers of two, to be of use again: by torch and by pinbench's model of it alike. */
function pinnedBlockBytes(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, bytes)));
}

/**
 * Why a setting does not fit on this machine beside those of the other ranks, in words that follow "skipped: "; null
 * where it does.
 */
export function misfit(
  setting: LoaderSetting,
  facts: ProbeFacts,
  { limits, maxWorkers }: { limits: MachineLimits; maxWorkers: number },
  workerBytes: number,
): string | null {
  if (setting.numWorkers > maxWorkers) {
    return `${setting.numWorkers} workers are more than the ${maxWorkers} that ${workersReason(limits, maxWorkers)}`;
  }
  const need = needOf(setting, facts, workerBytes);
  const { ranks } = limits;
  const share = ranks === 1 ? "" : ` for each of ${ranks} ranks`;
  if (limits.sharedMemoryBytes !== null && need.sharedMemoryBytes * ranks > limits.sharedMemoryBytes) {
    return `batches in flight need ${up(need.sharedMemoryBytes)} of /dev/shm${share}, and ${down(limits.sharedMemoryBytes)} are free`;
  }
  const ownBytes = setting.numWorkers * workerBytes;
  const workersPart =
    2 * ownBytes < need.memoryBytes
      ? ""
      : ` (${up(ownBytes)} of it memory that its workers copy over an epoch)`;
  if (need.memoryBytes * ranks > limits.memoryAvailableBytes) {
    return `it needs ${up(need.memoryBytes)} of memory${share}${workersPart}, and ${down(limits.memoryAvailableBytes)} are available`;
  }
  if (facts.fileLimit !== null && need.files + (facts.filesInUse ?? 0) > facts.fileLimit) {
    return `it needs about ${need.files} file descriptors, and ${facts.filesInUse ?? 0} are in use: the limit is ${facts.fileLimit} (ulimit -n)`;
  }
  return null;
}

/** What limits the workers, as in "more than the 16 that 16 CPUs allow". */
function workersReason(limits: MachineLimits, maxWorkers: number): string {
  if (maxWorkers !== cpusPerRank(limits)) return "--max-workers allows";
  const { usableCpus, cpuQuota, ranks } = limits;
  const cpus = usableCpus === 1 ? "1 CPU" : `${usableCpus} CPUs`;
  const quota = cpuQuota === null ? "" : ` (the cgroup's quota is ${cpuQuota})`;
  const each = ranks === 1 ? "" : ` each of ${ranks} ranks`;
  return `${cpus}${quota} ${usableCpus === 1 ? "allows" : "allow"}${each}`;
}

const up = (bytes: number) => formatSizeRounded(bytes, Math.ceil);
const down = (bytes: number) => formatSizeRounded(bytes, Math.floor);
