import { formatSize, MiB } from "../settings/units.js";
import type { PoolShape } from "./pinning-document.js";

export interface PoolPlace {
  device: number;
  /** The node of its pages and of the CPUs that touched them; null if the system decided. */
  numaNode: number | null;
  /** Of the machine's transparent huge pages: 512 MiB if its kernel has pages of 64 KiB. */
  hugePageBytes: number;
}

/** The pool that a program obtains. */
export interface ProgrammedPool {
  shape: PoolShape;
  sizeBytes: number;
  place: PoolPlace;
}

/** In MiB, what pieces begin at multiples of, as in the measured pool: those smaller than a huge page may have folios of 2 MiB. */
export function alignmentMiB({
  shape: { way, pieces },
  sizeBytes,
  place: { hugePageBytes },
}: ProgrammedPool): number {
  const hasWhole = way !== "register-hugetlb" && sizeBytes / pieces >= hugePageBytes;
  return hasWhole ? hugePageBytes / MiB : 2;
}

/** The text without null lines. */
export function lines(...parts: readonly (string | null)[]): string {
  return `${parts.filter((part) => part !== null).join("\n")}\n`;
}

/** How to run a program at the measured place; null if any place will do. */
export function numactl({ numaNode }: PoolPlace, program: string): string | null {
  return numaNode === null ? null : `numactl --cpunodebind=${numaNode} --preferred=${numaNode} ${program}`;
}

/** A description of the pool in two lines. */
export function summary({ shape: { way, pieces, threads }, sizeBytes }: ProgrammedPool): string[] {
  const pages = {
    "host-alloc": "cudaHostAlloc",
    register: "ordinary pages, registered",
    "register-huge": "huge pages, registered",
    "register-hugetlb": "pages of hugetlbfs, registered",
  }[way];
  const inPieces = pieces === 1 ? "in one piece" : `in ${pieces} pieces`;
  const by = threads === 1 ? "1 thread" : `${threads} threads`;
  return [`${formatSize(sizeBytes)} of pinned memory ${inPieces} by ${by}`, pages];
}
