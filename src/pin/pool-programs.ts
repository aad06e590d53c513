import { readFileSync } from "node:fs";
import { formatSize, MiB } from "../settings/units.js";
import type { PinningRecommendation, PoolShape } from "./pinning-document.js";
import { wayInWords } from "./recommend-pool.js";

export interface ProgrammedPool extends Pick<PinningRecommendation, keyof PoolShape | "sizeBytes"> {
  device: number;
  /** NUMA node of its pages and of the CPUs that touch them; null if the system chooses. */
  numaNode: number | null;
  /** Size of transparent huge pages: 512 MiB if the kernel's pages have 64 KiB. */
  hugePageBytes: number;
}

/** MAP_HUGETLB with MAP_HUGE_2MB of linux/mman.h, which not all headers have. */
const hugetlbFlags = "0x40000 | 21 << 26";

/** A C program for the CUDA runtime that allocates a pool as measured, and frees it. */
export function cProgram(pool: ProgrammedPool): string {
  const { device, threads, way } = pool;
  const isRegistered = way !== "host-alloc";
  const { alignmentBytes, marginBytes } = layoutOf(pool);
  const constants = [
    `enum { DEVICE = ${device}${isRegistered ? `, THREADS = ${threads}` : ""} };`,
    `static const size_t POOL_BYTES = (size_t)${pool.sizeBytes};`,
    ...(isRegistered
      ? [
          `static const size_t ALIGNMENT = (size_t)${alignmentBytes};`,
          `static const size_t MARGIN = (size_t)${marginBytes};`,
          `enum { MAP_FLAGS = MAP_PRIVATE | MAP_ANONYMOUS${way === "register-hugetlb" ? ` | ${hugetlbFlags}` : ""} };`,
          `enum { PAGE_ADVICE = ${way === "register-huge" ? "MADV_HUGEPAGE" : "MADV_NORMAL"} };`,
        ]
      : []),
  ];
  const build = `gcc -O2 pool.c -I/usr/local/cuda/include \\\n     -L/usr/local/cuda/lib64 -lcudart${isRegistered ? " -lpthread" : ""}`;
  const comment = [`${described(pool)}.`, build, ...numactl(pool, "./a.out")].join("\n   ");
  const body = program(isRegistered ? "register.c" : "host-alloc.c");
  return `/* ${comment} */\n${body.replace("/* constants */", () => constants.join("\n"))}`;
}

/** A Python module for torch that allocates a pool as measured, and frees it. */
export function pythonProgram(pool: ProgrammedPool): string {
  const { device, threads, way } = pool;
  const isRegistered = way !== "host-alloc";
  const { alignmentBytes, marginBytes } = layoutOf(pool);
  const constants = [
    `POOL_BYTES = ${pool.sizeBytes}`,
    `DEVICE = ${device}`,
    ...(isRegistered
      ? [
          `THREADS = ${threads}`,
          `ALIGNMENT = ${alignmentBytes}`,
          `MARGIN = ${marginBytes}`,
          `MAP_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS${way === "register-hugetlb" ? ` | ${hugetlbFlags}` : ""}`,
          `PAGE_ADVICE = ${way === "register-huge" ? "14  # MADV_HUGEPAGE" : "0"}`,
        ]
      : []),
  ];
  const comment = [`${described(pool)}.`, ...numactl(pool, "python pool.py")].join("\n# ");
  const body = program(isRegistered ? "register.py" : "host_alloc.py");
  return `# ${comment}\n${body.replace("# constants", () => constants.join("\n"))}`;
}

/** Alignment of the pool as it was measured, and the address space that aligning it needs. */
function layoutOf({ way, hugePageBytes, sizeBytes }: ProgrammedPool) {
  if (way !== "register-huge") {
    return { alignmentBytes: way === "register-hugetlb" ? 2 * MiB : 4096, marginBytes: 0 };
  }
  // A pool smaller than a huge page may still have folios of 2 MiB.
  const alignmentBytes = sizeBytes < hugePageBytes ? 2 * MiB : hugePageBytes;
  return { alignmentBytes, marginBytes: alignmentBytes };
}

function program(name: string): string {
  return readFileSync(new URL(`programs/${name}`, import.meta.url), "utf8");
}

function numactl({ numaNode }: ProgrammedPool, command: string): string[] {
  return numaNode === null ? [] : [`numactl --cpunodebind=${numaNode} --preferred=${numaNode} ${command}`];
}

function described(pool: ProgrammedPool): string {
  const way = pool.way === "host-alloc" ? "cudaHostAlloc" : wayInWords(pool);
  return `${formatSize(pool.sizeBytes)} of pinned memory: ${way}`;
}
