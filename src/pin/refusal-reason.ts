import type { PoolWay } from "../settings/choices.js";
import { formatSizeRounded } from "../settings/units.js";

/** The facts on a refusal. */
export interface Refusal {
  way: PoolWay;
  code: string;
  /** The largest granted amount, and the smallest refused one. */
  largestBytes: number;
  refusedBytes: number;
  /** The largest pool obtained in the same way in more pieces; 0 for none. */
  hadInPiecesBytes: number;
  machine: {
    virtualization: string | null;
    /** Before anything was obtained, within the cgroup's limit. */
    memoryAvailableBytes: number;
    cgroupMemoryLimitBytes: number | null;
    memoryTotalBytes: number;
    memlockLimitBytes: number | null;
  };
  /** NVML's report on the device; null without one. */
  confidentialComputing: boolean | null;
}

/** The likely reason for refused pinned memory, and what to do, in one sentence. */
export function refusalReason(refusal: Refusal): string {
  const { way, code, largestBytes, refusedBytes, hadInPiecesBytes, machine, confidentialComputing } = refusal;
  const isRegistering = way !== "host-alloc";
  if (code === "OUT_OF_HOST_MEMORY") {
    return "the system gives no more memory to this process: ulimit -v, the cgroup, or vm.overcommit_memory=2";
  }
  if (hadInPiecesBytes >= refusedBytes) {
    return `the driver refuses this much in one call, and grants it in several: obtain ${formatSizeRounded(hadInPiecesBytes)} in pieces`;
  }
  if (machine.virtualization === "wsl2") {
    return "Windows lets WSL pin little in all, 0.75 to 1 GiB on a machine with 63 GiB: use smaller pools";
  }
  if (isRegistering && confidentialComputing === true) {
    return "under confidential computing the device cannot reach a program's own memory: use cudaHostAlloc, whose copies go through bounce buffers all the same";
  }
  const { cgroupMemoryLimitBytes, memoryAvailableBytes, memoryTotalBytes, memlockLimitBytes } = machine;
  // Most drivers do not count pinned memory as locked: then more than the limit can be granted.
  const isAtMemlock =
    memlockLimitBytes !== null && largestBytes <= memlockLimitBytes && memlockLimitBytes < refusedBytes;
  if (isAtMemlock && code !== "CUDA_ERROR_NOT_SUPPORTED") {
    return `the limit of locked memory is ${formatSizeRounded(memlockLimitBytes, Math.floor)}: ulimit -l unlimited raises it`;
  }
  if (largestBytes === 0 && isRegistering) {
    return "the driver registers no memory of programs here, as under confidential computing and in some virtual machines: use cudaHostAlloc";
  }
  // A cgroup with enough memory left refuses nothing.
  const isMuch = refusedBytes > memoryAvailableBytes / 2;
  if (isMuch && cgroupMemoryLimitBytes !== null && cgroupMemoryLimitBytes < memoryTotalBytes) {
    return `the cgroup has ${formatSizeRounded(cgroupMemoryLimitBytes, Math.floor)} of memory: raise the container's or job's limit`;
  }
  return "not known: see the kernel log, and whether other programs hold pinned memory";
}
