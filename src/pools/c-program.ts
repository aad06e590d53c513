import { lines, numactl, type ProgrammedPool, summary } from "./programmed-pool.js";

/** A program for the CUDA runtime that obtains a pool, and gives it back. */
export function cProgram(pool: ProgrammedPool): string {
  const { shape, sizeBytes, place } = pool;
  const { way, pieces, threads } = shape;
  if (way === "host-alloc" && pieces === 1) return plainCProgram(pool);
  const isMapped = way !== "host-alloc";
  const isHuge = way === "register-huge";
  const flags =
    way === "register-hugetlb" ? "MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB" : "MAP_PRIVATE | MAP_ANONYMOUS";
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
    "static const size_t HUGE_PAGE = (size_t)2 << 20;",
    "",
    pieces > 1 ? "/* No copy may go from one piece into the next. */" : null,
    "struct piece {",
    "  char *data;",
    "  size_t bytes;",
    isMapped ? "  void *map;" : null,
    isMapped ? "  size_t map_bytes;" : null,
    isMapped ? "  int is_registered;" : null,
    isMapped ? "  size_t touched_bytes;" : null,
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
          "  piece->touched_bytes = 0;",
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
    ...(isMapped ? touchingWork : allocatingWork),
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
    "/* 0, or -1 where it cannot be had: nothing of it is left then. */",
    "int pool_obtain(void) {",
    "  pthread_t threads[THREADS];",
    "  int started = 0;",
    "  int failed = 0;",
    "  for (size_t i = 0; i < PIECES; ++i) {",
    "    const size_t pages = (POOL_BYTES + HUGE_PAGE - 1) / HUGE_PAGE;",
    "    pool[i].bytes = (pages / PIECES + (i < pages % PIECES)) * HUGE_PAGE;",
    ...(isMapped
      ? ["    if (map_piece(&pool[i]) != 0) {", "      pool_release();", "      return -1;", "    }"]
      : []),
    "  }",
    isMapped ? "  next_piece = 0;" : null,
    isMapped ? "  next_at = 0;" : null,
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
    "  if (!failed) return 0;",
    "  pool_release();",
    "  return -1;",
    "}",
    "",
    ...cMain(),
  );
}

/** What each thread does where memory is registered. */
const touchingWork = [
  "/* The threads touch one piece after the other, 32 MiB at a time. Whoever is the",
  "   last one at a piece registers it, while the others go on to the next one;",
  "   one at a time, for in the driver they would only wait for each other. */",
  "static const size_t PART = (size_t)32 << 20;",
  "static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;",
  "static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;",
  "static int next_piece;",
  "static size_t next_at;",
  "",
  "/* The next part to touch; none where 0 bytes are left. */",
  "static size_t next_part(struct piece **piece, char **begin) {",
  "  size_t bytes = 0;",
  "  pthread_mutex_lock(&counting);",
  "  if (next_piece < PIECES) {",
  "    *piece = &pool[next_piece];",
  "    *begin = (*piece)->data + next_at;",
  "    bytes = (*piece)->bytes - next_at;",
  "    if (bytes > PART) bytes = PART;",
  "    next_at += bytes;",
  "    if (next_at == (*piece)->bytes) {",
  "      ++next_piece;",
  "      next_at = 0;",
  "    }",
  "  }",
  "  pthread_mutex_unlock(&counting);",
  "  return bytes;",
  "}",
  "",
  "/* What is not NULL is a failure. */",
  "static void *work(void *unused) {",
  "  struct piece *piece = NULL;",
  "  char *begin = NULL;",
  "  size_t bytes = 0;",
  "  (void)unused;",
  "  if (cudaSetDevice(DEVICE) != cudaSuccess) return &pool;",
  "  while ((bytes = next_part(&piece, &begin)) > 0) {",
  "    touch(begin, bytes);",
  "    pthread_mutex_lock(&counting);",
  "    piece->touched_bytes += bytes;",
  "    const int is_touched = piece->touched_bytes == piece->bytes;",
  "    pthread_mutex_unlock(&counting);",
  "    if (!is_touched) continue;",
  "    pthread_mutex_lock(&registering);",
  "    const int result = register_piece(piece);",
  "    pthread_mutex_unlock(&registering);",
  "    if (result != 0) return &pool;",
  "  }",
  "  return NULL;",
  "}",
];

/** What each thread does where the driver allocates it. */
const allocatingWork = [
  "/* Each thread obtains every THREADS-th piece; what is not NULL is a failure. */",
  "static void *work(void *number) {",
  "  if (cudaSetDevice(DEVICE) != cudaSuccess) return &pool;",
  "  for (intptr_t i = (intptr_t)number; i < PIECES; i += THREADS) {",
  "    void *data = NULL;",
  "    if (cudaHostAlloc(&data, pool[i].bytes, cudaHostAllocPortable) !=",
  "        cudaSuccess)",
  "      return &pool;",
  "    pool[i].data = (char *)data;",
  "  }",
  "  return NULL;",
  "}",
];

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
    "/* 0, or -1 where it cannot be had. */",
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
    '    fputs("the memory cannot be had\\n", stderr);',
    "    return 1;",
    "  }",
    '  printf("%zu bytes are pinned\\n", POOL_BYTES);',
    "  pool_release();",
    "  return 0;",
    "}",
  ];
}
