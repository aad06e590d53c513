/*
 * All enumerations. Those of cells are in the order of plans and tables. Types and the documents' schemas derive from
 * these.
 */

/** Host to device, device to host, both at once, within a device, and from device to device. */
export const directions = ["h2d", "d2h", "bidir", "d2d", "p2p"] as const;
export type Direction = (typeof directions)[number];

/** Whether host memory is copied, as opposed to only memory kind `device`. */
export function copiesHostMemory(direction: Direction): boolean {
  return direction !== "d2d" && direction !== "p2p";
}

/** Directions of sample columns; a bidir cell has two columns. */
export const directionsMoved = ["h2d", "d2h", "d2d", "p2p"] as const;
export type DirectionMoved = (typeof directionsMoved)[number];

/**
 * Kinds of host memory. `host` is the control of pageable and staged copies: the CPU's own copies between pageable
 * buffers and staging slots, without the device. `system` is pageable memory that a kernel accesses. `file` is a
 * read-only mapping of a file in the page cache; `file-registered` is such a mapping, pinned.
 */
export const hostMemories = [
  "pageable",
  "staged",
  "host",
  "pinned",
  "registered",
  "write-combined",
  "mapped",
  "system",
  "file",
  "file-registered",
] as const;
export type HostMemory = (typeof hostMemories)[number];

/** Whether a cell copies from a file mapping, which goes only to the device. */
export function isOfFile(memory: string): boolean {
  return memory === "file" || memory === "file-registered";
}

/** All kinds of memory; `device` only goes with directions d2d and p2p. */
export const memories = [...hostMemories, "device"] as const;
export type Memory = (typeof memories)[number];

/**
 * Kinds of memory that the device copies without the CPU. Their medians hardly vary between processes (0.1 to 0.2 % in
 * recorded runs), so a single slow one is a fault.
 */
export const steadyMemories: readonly string[] = [
  "pinned",
  "registered",
  "write-combined",
  "mapped",
  "file-registered",
  "device",
] satisfies Memory[];

export const workerKinds = ["thread", "process"] as const;
export type WorkerKind = (typeof workerKinds)[number];

/**
 * Paths of a copy between two devices: by the copy engine of source or destination, through the host if the devices
 * cannot access each other, or by a kernel on source or destination.
 */
export const peerPaths = ["write", "read", "through-host", "kernel-write", "kernel-read"] as const;
export type PeerPath = (typeof peerPaths)[number];

/**
 * Methods to copy blocks that are scattered on both sides: a driver call for each; one call for all; a kernel that
 * accesses mapped host memory; or one copy, which the CPU gathers in pinned slots and a kernel scatters (from device to
 * host the other way round).
 */
export const blockWays = ["loop", "batch", "kernel", "gather"] as const;
export type BlockWay = (typeof blockWays)[number];

/**
 * Methods to allocate a pool of pinned memory: cuMemHostAlloc; malloc() and cuMemHostRegister; the latter with
 * transparent huge pages, or with pages reserved in hugetlbfs.
 */
export const poolWays = ["host-alloc", "register", "register-huge", "register-hugetlb"] as const;
export type PoolWay = (typeof poolWays)[number];

/**
 * Methods to load weights from a file to a device: from a mapping with the driver's staging; from a mapping registered
 * read-only; through pinned slots that threads fill from a mapping, by reads, or by O_DIRECT reads; and only O_DIRECT
 * reads, without the device.
 */
export const weightsWays = [
  "mapped",
  "registered",
  "mapped-slots",
  "read-slots",
  "direct-slots",
  "storage",
] as const;
export type WeightsWay = (typeof weightsWays)[number];

/** Calls made while another thread of the process pins memory: a kernel that fills 4 KiB, a copy of 4 KiB. */
export const watchedCalls = ["launch", "small-copy"] as const;
export type WatchedCall = (typeof watchedCalls)[number];

/** Loads during copies: arithmetic on the device, device memory, or CPU threads that use host memory. */
export const besides = ["none", "compute", "memory", "host"] as const;
export type Beside = (typeof besides)[number];

/** GB/s of many copies in a row, or the time of single ones. */
export const modes = ["throughput", "latency"] as const;
export type Mode = (typeof modes)[number];

/** Whether the CPU's caches hold the buffers when they are copied. */
export const caches = ["cold", "warm"] as const;
export type Cache = (typeof caches)[number];

export const backendNames = ["cuda", "emulated"] as const;
export type BackendName = (typeof backendNames)[number];

/** Choices of a backend: `auto` takes the GPU, or the emulated device if there is none. */
export const backendChoices = ["auto", ...backendNames] as const;
export type BackendChoice = (typeof backendChoices)[number];

/** The questions of `explain`, in the order of its report. */
export const questionNames = [
  "why-pinned",
  "81-times",
  "pinned-in-a-class",
  "too-small",
  "loader-pin-memory",
  "pinning-in-the-loop",
  "converting-copy",
  "low-latency",
  "overlap",
  "non-blocking",
  "forgotten-pageable",
  "several-gpus",
  "too-many-workers",
  "too-much-pinned",
  "mapped-weights",
] as const;
export type QuestionName = (typeof questionNames)[number];

/** Filters `choices`, and keeps their order. */
export function inOrder<Choice extends string>(
  choices: readonly Choice[],
  requested: readonly string[],
): Choice[] {
  return choices.filter((choice) => requested.includes(choice));
}

/** The word that was most likely meant, or null; ignores case, "-" and "_". */
export function nearestWord(typed: string, words: readonly string[]): string | null {
  const ranked = words
    .map((word) => ({ word, edits: editDistance(plain(typed), plain(word)) }))
    .sort((a, b) => a.edits - b.edits);
  const [best] = ranked;
  // In a short word even one edit is a lot.
  const mostEdits = Math.max(1, Math.floor(plain(typed).length / 3));
  return best !== undefined && best.edits <= mostEdits ? best.word : null;
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[-_]/g, "");
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const row = [i];
    for (let j = 1; j <= b.length; ++j) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, previous[j]! + 1, row[j - 1]! + 1));
    }
    previous = row;
  }
  return previous[b.length]!;
}

/** Which copies are verified: those that no later copy of the visit overwrote, or every one. */
export const verifyings = ["last", "every"] as const;
export type Verifying = (typeof verifyings)[number];

/** "local": each device's own NUMA node; "all": compares the nodes; a number: that node. */
export type NumaChoice = "local" | "all" | number;
