import { alignmentMiB, lines, numactl, type ProgrammedPool, summary } from "./programmed-pool.js";

/** A program for the CUDA runtime that obtains a pool, and gives it back. */
export function cProgram(pool: ProgrammedPool): string {
  const { shape, sizeBytes, place } = pool;
  const { way, pieces, threads } = shape;
  if (way === "host-alloc" && pieces === 1) return plainCProgram(pool);
  const isMapped = way !== "host-alloc";
  const isHuge = way === "register-huge";
  const flags =
    way === "register-hugetlb"
      ? "MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_2MB"
      : "MAP_PRIVATE | MAP_ANONYMOUS";
  const isShared = pieces === 1;
  return lines(
    ...cHead(pool, "-lcudart -lpthread"),
    "#ifndef _GNU_SOURCE",
    "#define _GNU_SOURCE",
    "#endif",
    "#include <cuda_runtime_api.h>",
    "#include <pthread.h>",
    "#include <stdint.h>",
    "#include <stdio.h>",
    isMapped ? "#include <sys/mman.h>" : null,
    "",
    `enum { PIECES = ${pieces}, THREADS = ${threads}, DEVICE = ${place.device} };`,
    `static const size_t POOL_BYTES = (size_t)${sizeBytes};`,
    `static const size_t HUGE_PAGE = (size_t)${alignmentMiB(pool)} << 20;`,
    way === "register-hugetlb" ? "enum { MAP_2MB = 21 << 26 }; /* MAP_HUGE_2MB of linux/mman.h */" : null,
    "",
    pieces > 1 ? "/* No copy may go from one piece into the next. */" : null,
    "struct piece {",
    "  char *data;",
    "  size_t bytes;",
    isMapped ? "  void *map;" : null,
    isMapped ? "  size_t map_bytes;" : null,
    isMapped ? "  int is_registered;" : null,
    "};",
    "static struct piece pool[PIECES];",
    "",
    ...(isMapped
      ? [
          "/* Gives a piece addresses; it has no pages yet. */",
          "static int map_piece(struct piece *piece) {",
          "  const size_t pages = (piece->bytes + HUGE_PAGE - 1) / HUGE_PAGE;",
          `  piece->map_bytes = ${isHuge ? "(pages + 1)" : "pages"} * HUGE_PAGE;`,
          "  piece->map = mmap(NULL, piece->map_bytes, PROT_READ | PROT_WRITE,",
          `                    ${flags}, -1, 0);`,
          "  if (piece->map == MAP_FAILED) {",
          "    piece->map = NULL;",
          "    return -1;",
          "  }",
          ...(isHuge
            ? [
                "  const uintptr_t end = (uintptr_t)piece->map + HUGE_PAGE - 1;",
                "  piece->data = (char *)(end / HUGE_PAGE * HUGE_PAGE);",
                "  madvise(piece->data, piece->bytes, MADV_HUGEPAGE);",
              ]
            : ["  piece->data = (char *)piece->map;"]),
          "  return 0;",
          "}",
          "",
          "/* Has the kernel find and clear pages: in one call since Linux 5.14,",
          "   else by writing to each. */",
          "static void touch(char *begin, size_t bytes) {",
          "  const int madv_populate_write = 23;",
          "  volatile char *memory = begin;",
          "  if (madvise(begin, bytes, madv_populate_write) == 0) return;",
          "  for (size_t at = 0; at < bytes; at += 4096) memory[at] = 0;",
          "}",
          "",
          "static int register_piece(struct piece *piece) {",
          "  const cudaError_t result = cudaHostRegister(piece->data, piece->bytes,",
          "                                              cudaHostRegisterPortable);",
          "  piece->is_registered = result == cudaSuccess;",
          "  return result == cudaSuccess ? 0 : -1;",
          "}",
          "",
        ]
      : []),
    ...(isShared
      ? [
          "/* Each thread touches every THREADS-th part of 32 MiB. */",
          "static void *work(void *number) {",
          "  const size_t part = (size_t)32 << 20;",
          "  size_t at = (size_t)(intptr_t)number * part;",
          "  for (; at < pool[0].bytes; at += THREADS * part) {",
          "    const size_t left = pool[0].bytes - at;",
          "    touch(pool[0].data + at, left < part ? left : part);",
          "  }",
          "  return NULL;",
          "}",
        ]
      : [
          "/* Each thread obtains every THREADS-th piece, and returns NULL if it can. */",
          "static void *work(void *number) {",
          "  if (cudaSetDevice(DEVICE) != cudaSuccess) return &pool;",
          "  for (intptr_t i = (intptr_t)number; i < PIECES; i += THREADS) {",
          "    struct piece *piece = &pool[i];",
          ...(isMapped
            ? [
                "    if (map_piece(piece) != 0) return &pool;",
                "    touch(piece->data, piece->bytes);",
                "    if (register_piece(piece) != 0) return &pool;",
              ]
            : [
                "    void *data = NULL;",
                "    if (cudaHostAlloc(&data, piece->bytes, cudaHostAllocPortable) !=",
                "        cudaSuccess)",
                "      return &pool;",
                "    piece->data = (char *)data;",
              ]),
          "  }",
          "  return NULL;",
          "}",
        ]),
    "",
    "void pool_release(void) {",
    "  for (int i = 0; i < PIECES; ++i) {",
    ...(isMapped
      ? [
          "    if (pool[i].is_registered) cudaHostUnregister(pool[i].data);",
          "    if (pool[i].map != NULL) munmap(pool[i].map, pool[i].map_bytes);",
          "    pool[i].is_registered = 0;",
          "    pool[i].map = NULL;",
        ]
      : ["    if (pool[i].data != NULL) cudaFreeHost(pool[i].data);"]),
    "    pool[i].data = NULL;",
    "  }",
    "}",
    "",
    "/* 0, or -1 if it cannot be obtained; then nothing of it is left. */",
    "int pool_obtain(void) {",
    "  pthread_t threads[THREADS];",
    "  int started = 0;",
    "  int failed = 0;",
    ...(isShared
      ? [
          "  pool[0].bytes = POOL_BYTES;",
          "  if (cudaSetDevice(DEVICE) != cudaSuccess) return -1;",
          "  if (map_piece(&pool[0]) != 0) return -1;",
        ]
      : [
          "  for (size_t i = 0; i < PIECES; ++i) {",
          "    const size_t pages = (POOL_BYTES + HUGE_PAGE - 1) / HUGE_PAGE;",
          "    const size_t begin = pages * i / PIECES * HUGE_PAGE;",
          "    const size_t end = pages * (i + 1) / PIECES * HUGE_PAGE;",
          "    pool[i].bytes = (end < POOL_BYTES ? end : POOL_BYTES) - begin;",
          "  }",
        ]),
    "  for (; started < THREADS; ++started) {",
    "    void *number = (void *)(intptr_t)started;",
    "    if (pthread_create(&threads[started], NULL, work, number) != 0) break;",
    "  }",
    "  failed = started < THREADS;",
    "  for (int i = 0; i < started; ++i) {",
    "    void *result = NULL;",
    "    pthread_join(threads[i], &result);",
    "    failed |= result != NULL;",
    "  }",
    isShared ? "  if (!failed) failed = register_piece(&pool[0]) != 0;" : null,
    "  if (!failed) return 0;",
    "  pool_release();",
    "  return -1;",
    "}",
    "",
    ...cMain(),
  );
}

function plainCProgram(pool: ProgrammedPool): string {
  const { sizeBytes, place } = pool;
  return lines(
    ...cHead(pool, "-lcudart"),
    "#include <cuda_runtime_api.h>",
    "#include <stddef.h>",
    "#include <stdio.h>",
    "",
    `static const size_t POOL_BYTES = (size_t)${sizeBytes};`,
    `enum { DEVICE = ${place.device} };`,
    "static void *pool;",
    "",
    "void pool_release(void) {",
    "  cudaFreeHost(pool);",
    "  pool = NULL;",
    "}",
    "",
    "/* 0, or -1 if it cannot be obtained. */",
    "int pool_obtain(void) {",
    "  if (cudaSetDevice(DEVICE) != cudaSuccess) return -1;",
    "  const cudaError_t result =",
    "      cudaHostAlloc(&pool, POOL_BYTES, cudaHostAllocPortable);",
    "  return result == cudaSuccess ? 0 : -1;",
    "}",
    "",
    ...cMain(),
  );
}

function cHead(pool: ProgrammedPool, libraries: string): string[] {
  const run = numactl(pool.place, "./a.out");
  return [
    `/* ${summary(pool).join(":\n   ")}.`,
    "   gcc -O2 pool.c -I/usr/local/cuda/include \\",
    `     -L/usr/local/cuda/lib64 ${libraries}${run === null ? " */" : `\n   ${run} */`}`,
  ];
}

function cMain(): string[] {
  return [
    "int main(void) {",
    "  if (pool_obtain() != 0) {",
    '    fputs("the memory cannot be obtained\\n", stderr);',
    "    return 1;",
    "  }",
    '  printf("%zu bytes are pinned\\n", POOL_BYTES);',
    "  pool_release();",
    "  return 0;",
    "}",
  ];
}
