import { statfsSync } from "node:fs";
import { join } from "node:path";
import { cpuQuota, usableCpuCount } from "../host/cpus.js";
import { memoryAvailableBytes } from "../host/memory.js";
import { batchesInFlight } from "../results/loader-setting.js";
import type { LoaderSetting, Tuning } from "../results/tuning.js";
import { formatSizeRounded } from "../settings/units.js";
import type { ProbeFacts } from "./loader-probe.js";
import type { PlacedRank } from "./process-binding.js";
import { constants } from "./search/constants.js";

/** Resources that the loaders of this node's training processes share. */
export type MachineLimits = Omit<Tuning["machine"], "hostname" | "cpuModel">;

/** The current limits. Tests replace `root`. */
export function machineLimits(ranks: number, root = "/"): MachineLimits {
  return {
    usableCpus: usableCpuCount(root),
    cpuQuota: cpuQuota(root),
    memoryAvailableBytes: memoryAvailableBytes(root),
    sharedMemoryBytes: freeSharedMemoryBytes(root),
    ranks,
  };
}

/** Limits for processes that their launcher has bound to some CPUs; unchanged unless all ranks are known. */
export function limitsOfProcesses(limits: MachineLimits, processes: readonly PlacedRank[]): MachineLimits {
  if (processes.length < limits.ranks) return limits;
  const { size } = new Set(processes.flatMap(({ place }) => place.cpus));
  return { ...limits, usableCpus: Math.min(limits.usableCpus, size) };
}

function freeSharedMemoryBytes(root: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(join(root, "dev/shm"));
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** CPUs for each training process of the node; at least 1. */
export function cpusPerRank({ usableCpus, ranks }: MachineLimits): number {
  return Math.max(1, Math.floor(usableCpus / ranks));
}

/**
 * Bytes and file descriptors that a setting needs. `workerBytes`: memory that a worker came to own over an epoch in
 * earlier trials; 0 before any.
 */
export function needOf(setting: LoaderSetting, facts: ProbeFacts, workerBytes: number) {
  const { numWorkers, pinMemory } = setting;
  const batches = batchesInFlight(setting) + constants.batchesBeyondFlight;
  const sharedMemoryBytes = numWorkers === 0 ? 0 : batches * facts.batch.bytes;
  const pinnedBytes = pinMemory ? batches * pinnedBlockBytes(facts.batch.bytes) : 0;
  return {
    sharedMemoryBytes,
    memoryBytes: sharedMemoryBytes + pinnedBytes + numWorkers * workerBytes,
    files: numWorkers === 0 ? 0 : numWorkers * constants.filesPerWorker + batches * facts.filesPerBatch,
  };
}

/** Torch rounds pinned blocks up to powers of two to reuse them; the model does so too. */
function pinnedBlockBytes(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, bytes)));
}

/** Why a setting does not fit on this machine with all ranks, to follow "skipped: "; null if it fits. */
export function misfit(
  setting: LoaderSetting,
  facts: ProbeFacts,
  { limits, maxWorkers }: { limits: MachineLimits; maxWorkers: number },
  workerBytes: number,
): string | null {
  if (setting.numWorkers > maxWorkers) {
    return `${setting.numWorkers} workers are more than ${maxWorkers}, by the CPUs of each rank or --max-workers`;
  }
  const need = needOf(setting, facts, workerBytes);
  const { ranks } = limits;
  const share = ranks === 1 ? "" : ` for each of ${ranks} ranks`;
  if (limits.sharedMemoryBytes !== null && need.sharedMemoryBytes * ranks > limits.sharedMemoryBytes) {
    return `batches in flight need ${up(need.sharedMemoryBytes)} of /dev/shm${share}, and ${down(limits.sharedMemoryBytes)} are free`;
  }
  const memory = memoryMisfit(setting, facts, limits, workerBytes);
  if (memory !== null) return memory;
  if (facts.fileLimit !== null && need.files + (facts.filesInUse ?? 0) > facts.fileLimit) {
    return `it needs about ${need.files} file descriptors, and ${facts.filesInUse ?? 0} are in use: the limit is ${facts.fileLimit} (ulimit -n)`;
  }
  return null;
}

/** Like misfit(), for memory only. */
export function memoryMisfit(
  setting: LoaderSetting,
  facts: ProbeFacts,
  limits: MachineLimits,
  workerBytes: number,
): string | null {
  const { memoryBytes } = needOf(setting, facts, workerBytes);
  if (memoryBytes * limits.ranks <= limits.memoryAvailableBytes) return null;
  const share = limits.ranks === 1 ? "" : ` for each of ${limits.ranks} ranks`;
  const ownBytes = setting.numWorkers * workerBytes;
  const workersPart =
    2 * ownBytes < memoryBytes ? "" : ` (${up(ownBytes)} of it memory that its workers copy over an epoch)`;
  return `it needs ${up(memoryBytes)} of memory${share}${workersPart}, and ${down(limits.memoryAvailableBytes)} are available`;
}

const up = (bytes: number) => formatSizeRounded(bytes, Math.ceil);
const down = (bytes: number) => formatSizeRounded(bytes, Math.floor);
