import { formatSize } from "../settings/units.js";
import type { PoolShape } from "./pinning-document.js";

/** For which device, and where. */
export interface PoolPlace {
  device: number;
  /** The node whose CPUs touched the pages and whose memory they were of; null where the system decided. */
  numaNode: number | null;
}

/** What the programs obtain. */
export interface ProgrammedPool {
  shape: PoolShape;
  sizeBytes: number;
  place: PoolPlace;
}

/** The text without the lines that are null. */
export function lines(...parts: readonly (string | null)[]): string {
  return `${parts.filter((part) => part !== null).join("\n")}\n`;
}

/** How to run a program where the pool was measured; null where any place will do. */
export function numactl({ numaNode }: PoolPlace, program: string): string | null {
  return numaNode === null ? null : `numactl --cpunodebind=${numaNode} --preferred=${numaNode} ${program}`;
}

/** What either program obtains, in two lines. */
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
