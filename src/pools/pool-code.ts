import { formatSize } from "../settings/units.js";
import type { PoolShape } from "./pinning-document.js";

/**
 * Programs that obtain a pool as it was measured: in C for the CUDA runtime, and a Python module for torch. Both also give
 * it back, and run by themselves.
 */
export function poolCode(shape: PoolShape, sizeBytes: number): { c: string; python: string } {
  return { c: cProgram(shape, sizeBytes), python: pythonModule(shape, sizeBytes) };
}

/** The text without the lines that are null. */
function lines(...parts: readonly (string | null)[]): string {
  return `${parts.filter((part) => part !== null).join("\n")}\n`;
}

/** What either program obtains, in two lines. */
function summary({ way, pieces, threads }: PoolShape, sizeBytes: number): string[] {
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

function cProgram(shape: PoolShape, sizeBytes: number): string {
  const { way, pieces, threads } = shape;
  if (way === "host-alloc" && pieces === 1) return plainCProgram(shape, sizeBytes);
  const isMapped = way !== "host-alloc";
  const isHuge = way === "register-huge";
  const flags =
    way === "register-hugetlb" ? "MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB" : "MAP_PRIVATE | MAP_ANONYMOUS";
  const isShared = pieces === 1;
  return lines(
    ...cHead(shape, sizeBytes, "-lcudart -lpthread"),
    "#ifndef _GNU_SOURCE",
    "#define _GNU_SOURCE",
    "#endif",
    "#include <cuda_runtime_api.h>",
    "#include <pthread.h>",
    "#include <stdint.h>",
    "#include <stdio.h>",
    isMapped ? "#include <sys/mman.h>" : null,
    "",
    `enum { PIECES = ${pieces}, THREADS = ${threads}, DEVICE = 0 };`,
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
          ...(isMapped
            ? [
                "/* One thread registers while the others touch: in the driver they would",
                "   only wait for each other. */",
                "static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;",
                "",
              ]
            : []),
          "/* Each thread obtains every THREADS-th piece; what is not NULL is a failure. */",
          "static void *work(void *number) {",
          "  if (cudaSetDevice(DEVICE) != cudaSuccess) return &pool;",
          "  for (intptr_t i = (intptr_t)number; i < PIECES; i += THREADS) {",
          "    struct piece *piece = &pool[i];",
          ...(isMapped
            ? [
                "    if (map_piece(piece) != 0) return &pool;",
                "    touch(piece->data, piece->bytes);",
                "    pthread_mutex_lock(&registering);",
                "    const int result = register_piece(piece);",
                "    pthread_mutex_unlock(&registering);",
                "    if (result != 0) return &pool;",
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
    "/* 0, or -1 where it cannot be had: nothing of it is left then. */",
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
          "    pool[i].bytes = (pages / PIECES + (i < pages % PIECES)) * HUGE_PAGE;",
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

function plainCProgram(shape: PoolShape, sizeBytes: number): string {
  return lines(
    ...cHead(shape, sizeBytes, "-lcudart"),
    "#include <cuda_runtime_api.h>",
    "#include <stddef.h>",
    "#include <stdio.h>",
    "",
    `static const size_t POOL_BYTES = (size_t)${sizeBytes};`,
    "static void *pool;",
    "",
    "void pool_release(void) {",
    "  cudaFreeHost(pool);",
    "  pool = NULL;",
    "}",
    "",
    "/* 0, or -1 where it cannot be had. */",
    "int pool_obtain(void) {",
    "  const cudaError_t result =",
    "      cudaHostAlloc(&pool, POOL_BYTES, cudaHostAllocPortable);",
    "  return result == cudaSuccess ? 0 : -1;",
    "}",
    "",
    ...cMain(),
  );
}

function cHead(shape: PoolShape, sizeBytes: number, libraries: string): string[] {
  return [
    `/* ${summary(shape, sizeBytes).join(":\n   ")}.`,
    "   gcc -O2 pool.c -I/usr/local/cuda/include \\",
    `     -L/usr/local/cuda/lib64 ${libraries} */`,
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

function pythonModule(shape: PoolShape, sizeBytes: number): string {
  const { way, pieces, threads } = shape;
  if (way === "host-alloc") return pinMemoryModule(shape, sizeBytes);
  const isHuge = way === "register-huge";
  const isHugetlb = way === "register-hugetlb";
  return lines(
    `# ${summary(shape, sizeBytes).join(":\n# ")}.`,
    "import ctypes",
    "import mmap",
    pieces > 1 ? "import threading" : null,
    "from concurrent.futures import ThreadPoolExecutor",
    "",
    "import torch",
    "",
    `POOL_BYTES = ${sizeBytes}`,
    `PIECES = ${pieces}${pieces > 1 ? "  # a tensor each: no copy may go from one into the next" : ""}`,
    `THREADS = ${threads}`,
    "DEVICE = 0",
    "HUGE_PAGE = 2 << 20",
    isHugetlb ? "MAP_HUGETLB = 0x40000" : null,
    isHuge ? "MADV_HUGEPAGE = 14" : null,
    "MADV_POPULATE_WRITE = 23  # since Linux 5.14",
    "PORTABLE = 1  # cudaHostRegisterPortable",
    "",
    "libc = ctypes.CDLL(None)  # its calls let other threads run",
    "libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]",
    "",
    "",
    "def map_piece(count):",
    `    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS${isHugetlb ? " | MAP_HUGETLB" : ""}`,
    "    memory = mmap.mmap(-1, count, flags=flags)",
    "    piece = torch.frombuffer(memory, dtype=torch.uint8)",
    isHuge ? "    libc.madvise(piece.data_ptr(), count, MADV_HUGEPAGE)" : null,
    "    return piece",
    "",
    "",
    "def touch(address, count):",
    "    if libc.madvise(address, count, MADV_POPULATE_WRITE) != 0:",
    "        ctypes.memset(address, 0, count)",
    "",
    "",
    "def register(piece):",
    "    torch.cuda.set_device(DEVICE)  # of this thread",
    "    cuda = torch.cuda.cudart()",
    "    error = cuda.cudaHostRegister(piece.data_ptr(), piece.numel(), PORTABLE)",
    "    if int(error) != 0:",
    '        raise RuntimeError(f"cudaHostRegister: {error}")',
    "    return piece",
    "",
    "",
    "def release(pieces):",
    "    for piece in pieces:",
    "        torch.cuda.cudart().cudaHostUnregister(piece.data_ptr())",
    "    pieces.clear()  # the memory goes with the last tensor that shows it",
    "",
    "",
    ...(pieces === 1
      ? [
          "def obtain():",
          "    torch.cuda.init()",
          "    piece = map_piece(-(-POOL_BYTES // HUGE_PAGE) * HUGE_PAGE)",
          "    part = 16 * HUGE_PAGE",
          "    begin, count = piece.data_ptr(), piece.numel()",
          "",
          "    def touch_part(at):",
          "        touch(begin + at, min(part, count - at))",
          "",
          "    with ThreadPoolExecutor(THREADS) as threads:",
          "        list(threads.map(touch_part, range(0, count, part)))",
          "    return [register(piece)]",
        ]
      : [
          "# One thread registers while the others touch: more would wait for each other.",
          "registering = threading.Lock()",
          "",
          "",
          "def obtain_piece(index):",
          "    pages = -(-POOL_BYTES // HUGE_PAGE)",
          "    piece = map_piece((pages // PIECES + (index < pages % PIECES)) * HUGE_PAGE)",
          "    touch(piece.data_ptr(), piece.numel())",
          "    with registering:",
          "        return register(piece)",
          "",
          "",
          "def obtain():",
          "    torch.cuda.init()",
          "    with ThreadPoolExecutor(THREADS) as threads:",
          "        tasks = [threads.submit(obtain_piece, index) for index in range(PIECES)]",
          "    failures = [task.exception() for task in tasks if task.exception()]",
          "    if failures:",
          "        release([task.result() for task in tasks if not task.exception()])",
          "        raise failures[0]",
          "    return [task.result() for task in tasks]",
        ]),
    "",
    "",
    ...pythonMain(),
  );
}

function pinMemoryModule(shape: PoolShape, sizeBytes: number): string {
  const { pieces, threads } = shape;
  return lines(
    `# ${summary(shape, sizeBytes)[0]}: pin_memory=True.`,
    pieces > 1 ? "from concurrent.futures import ThreadPoolExecutor" : null,
    pieces > 1 ? "" : null,
    "import torch",
    "",
    `POOL_BYTES = ${sizeBytes}`,
    pieces > 1 ? `PIECES = ${pieces}  # a tensor each` : null,
    pieces > 1 ? `THREADS = ${threads}` : null,
    "",
    "",
    ...(pieces > 1
      ? [
          "def obtain_piece(index):",
          "    count = POOL_BYTES // PIECES + (index < POOL_BYTES % PIECES)",
          "    return torch.empty(count, dtype=torch.uint8, pin_memory=True)",
          "",
          "",
          "def obtain():",
          "    with ThreadPoolExecutor(THREADS) as threads:",
          "        return list(threads.map(obtain_piece, range(PIECES)))",
        ]
      : [
          "def obtain():",
          "    # torch may round up to the next power of two.",
          "    return [torch.empty(POOL_BYTES, dtype=torch.uint8, pin_memory=True)]",
        ]),
    "",
    "",
    "def release(pieces):",
    "    pieces.clear()  # torch keeps what it freed for later tensors",
    "",
    "",
    ...pythonMain(),
  );
}

function pythonMain(): string[] {
  return [
    'if __name__ == "__main__":',
    "    pool = obtain()",
    "    assert all(piece.is_pinned() for piece in pool)",
    '    print(sum(piece.numel() for piece in pool), "bytes are pinned")',
    "    release(pool)",
  ];
}
