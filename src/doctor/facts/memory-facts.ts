import { countIn, fieldOf, readCount, readText } from "../../host/files.js";
import { type LoadReading, loadBetween, readLoad } from "../../host/machine-load.js";
import type { LoadRecord } from "../../results/schema.js";

/** What bounds the memory that programs can have; null where the kernel does not tell. */
export interface MemoryFacts {
  /** Reserved for huge pages that programs ask for (hugetlb): nobody else has this memory. */
  hugePoolBytes: number | null;
  hugePoolFreeBytes: number | null;
  swapUsedBytes: number | null;
  /** What /dev/shm, which the workers of a data loader hand batches over in, may hold; null without a limit of its own. */
  sharedMemoryBytes: number | null;
  /** The kernel gives no more memory than it has (vm.overcommit_memory is 2). */
  strictOvercommit: boolean | null;
}

/** Reads what bounds memory, at this moment. */
export function readMemoryFacts(root: string): MemoryFacts {
  const info = readText(root, "proc/meminfo");
  const bytesOf = (key: string) => kibibytes(/^(\d+) kB$/.exec(fieldOf(info, key) ?? "")?.[1]);
  const pageBytes = bytesOf("Hugepagesize");
  const pool = (key: string) => product(countIn(fieldOf(info, key)), pageBytes);
  const [swapTotal, swapFree] = [bytesOf("SwapTotal"), bytesOf("SwapFree")];
  const overcommit = readCount(root, "proc/sys/vm/overcommit_memory");
  return {
    hugePoolBytes: pool("HugePages_Total"),
    hugePoolFreeBytes: pool("HugePages_Free"),
    swapUsedBytes: swapTotal === null || swapFree === null ? null : Math.max(0, swapTotal - swapFree),
    sharedMemoryBytes: readSharedMemoryBytes(root),
    strictOvercommit: overcommit === null ? null : overcommit === 2,
  };
}

function kibibytes(text: string | undefined): number | null {
  return product(countIn(text), 1024);
}

function product(a: number | null, b: number | null): number | null {
  return a === null || b === null || !Number.isSafeInteger(a * b) ? null : a * b;
}

/**
 * The size that the file system at /dev/shm was mounted with (proc_pid_mountinfo(5)): the last mount there is what
 * programs see. Docker's is 64 MiB; without a size the kernel takes half of the memory.
 */
function readSharedMemoryBytes(root: string): number | null {
  const mount = (readText(root, "proc/self/mountinfo") ?? "")
    .split("\n")
    .findLast((line) => line.split(" ")[4] === "/dev/shm");
  return kibibytes(/ - tmpfs .*\bsize=(\d+)k/.exec(mount ?? "")?.[1]);
}

/** What the kernel has counted up to a moment; two of them tell what happened in between. */
export interface MachineCounters {
  load: LoadReading;
  /** Pages moved to and from swap since boot; null where the kernel does not tell. */
  swappedPages: number | null;
}

/** What the whole machine did between two readings; shares are of the time, from 0 to 1. */
export interface MachineActivity {
  load: LoadRecord;
  swappedPages: number | null;
}

/** Reads the counters; to be called before the first copy. Never throws. */
export function readMachineCounters(root = "/"): MachineCounters {
  const counters = readText(root, "proc/vmstat");
  const pages = (key: string) => countIn(new RegExp(`^${key} (\\d+)$`, "m").exec(counters ?? "")?.[1]);
  const [into, out] = [pages("pswpin"), pages("pswpout")];
  return { load: readLoad(root), swappedPages: into === null || out === null ? null : into + out };
}

/** What happened from one reading to a later one. */
export function activityBetween(before: MachineCounters, after: MachineCounters): MachineActivity {
  const [from, to] = [before.swappedPages, after.swappedPages];
  return {
    load: loadBetween([[before.load, after.load]]),
    swappedPages: from === null || to === null ? null : Math.max(0, to - from),
  };
}
