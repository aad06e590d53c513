import type { HostRecord } from "../results/schema.js";
import type { PoolWay } from "../settings/choices.js";
import { formatSizeRounded } from "../settings/units.js";

export interface Refusal {
  way: PoolWay;
  code: string;
  largestBytes: number;
  refusedBytes: number;
  /** Host facts; the available memory is from before any allocation, within the cgroup's limit. */
  machine: Pick<
    HostRecord,
    | "virtualization"
    | "memoryAvailableBytes"
    | "cgroupMemoryLimitBytes"
    | "memoryTotalBytes"
    | "memlockLimitBytes"
  >;
}

/** Likely reason for a refusal and a remedy, in one sentence. */
export function refusalReason(refusal: Refusal): string {
  const { way, code, largestBytes, refusedBytes, machine } = refusal;
  const isRegistering = way !== "host-alloc";
  if (code === "OUT_OF_HOST_MEMORY") {
    return "the system gives no more memory to this process: ulimit -v, the cgroup, or vm.overcommit_memory=2";
  }
  if (machine.virtualization === "wsl2") {
    return "Windows lets WSL pin little in all, 0.75 to 1 GiB on a machine with 63 GiB: use smaller pools";
  }
  const { cgroupMemoryLimitBytes, memoryAvailableBytes, memoryTotalBytes, memlockLimitBytes } = machine;
  // Most drivers do not count pinned memory as locked, and can grant more than the limit.
  const isAtMemlock =
    memlockLimitBytes !== null && largestBytes <= memlockLimitBytes && memlockLimitBytes < refusedBytes;
  if (isAtMemlock && code !== "CUDA_ERROR_NOT_SUPPORTED") {
    return `the limit of locked memory is ${formatSizeRounded(memlockLimitBytes, Math.floor)}: ulimit -l unlimited raises it`;
  }
  if (largestBytes === 0 && isRegistering) {
    return "the driver registers no memory of programs here, as under confidential computing and in some virtual machines: use cudaHostAlloc";
  }
  // A cgroup with enough free memory refuses nothing.
  const isMuch = refusedBytes > memoryAvailableBytes / 2;
  if (isMuch && cgroupMemoryLimitBytes !== null && cgroupMemoryLimitBytes < memoryTotalBytes) {
    return `the cgroup has ${formatSizeRounded(cgroupMemoryLimitBytes, Math.floor)} of memory: raise the container's or job's limit`;
  }
  return "not known: see the kernel log, and whether other programs hold pinned memory";
}

export interface BisectionOptions {
  refusedBytes: number;
  /** Amount known to be granted; 0 for none. */
  knownBytes: number;
  /** Tried amounts are multiples of this; without a known amount it is tried first. */
  unitBytes: number;
  mostTries: number;
  mayTry: (bytes: number) => boolean;
  /** Whether this amount can be allocated. Rejects if that stays unknown. */
  tryAmount: (bytes: number) => Promise<boolean>;
}

/** Amounts that were tried or known before. */
type FoundAmount = Pick<Refusal, "largestBytes" | "refusedBytes">;

/**
 * Largest granted amount (0 if not even one unit is) and smallest refused one, exact to `unitBytes` or as tries and
 * time allow. Null if nothing could be tried and nothing was known.
 */
export async function largestAmount(options: BisectionOptions): Promise<FoundAmount | null> {
  const { knownBytes, unitBytes, mostTries, mayTry, tryAmount } = options;
  let { refusedBytes } = options;
  let low = Math.floor(knownBytes / unitBytes);
  let high = Math.ceil(refusedBytes / unitBytes);
  let tries = 0;
  if (low === 0) {
    if (high <= 1) return { largestBytes: knownBytes, refusedBytes };
    // If even one unit is refused, larger amounts need not be tried.
    if (!mayTry(unitBytes)) return knownBytes > 0 ? { largestBytes: knownBytes, refusedBytes } : null;
    ++tries;
    if (!(await tryAmount(unitBytes))) return { largestBytes: knownBytes, refusedBytes: unitBytes };
    low = 1;
  }
  for (; high - low > 1 && tries < mostTries; ++tries) {
    const middle = Math.floor((low + high) / 2);
    if (!mayTry(middle * unitBytes)) break;
    if (await tryAmount(middle * unitBytes)) {
      low = middle;
    } else {
      high = middle;
      refusedBytes = middle * unitBytes;
    }
  }
  return { largestBytes: Math.max(low * unitBytes, knownBytes), refusedBytes };
}
