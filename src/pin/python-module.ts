import { alignmentMiB, lines, numactl, type ProgrammedPool, summary } from "./programmed-pool.js";

/** A module for torch that obtains a pool, and gives it back. */
export function pythonModule(pool: ProgrammedPool): string {
  const { shape, sizeBytes, place } = pool;
  const { way, pieces, threads } = shape;
  if (way === "host-alloc") return pinMemoryModule(pool);
  const isHuge = way === "register-huge";
  const isHugetlb = way === "register-hugetlb";
  return lines(
    ...pythonHead(pool, summary(pool).join(":\n# ")),
    "import ctypes",
    "import mmap",
    "from concurrent.futures import ThreadPoolExecutor",
    "",
    "import torch",
    "",
    `POOL_BYTES = ${sizeBytes}`,
    `PIECES = ${pieces}${pieces > 1 ? "  # a tensor each: no copy may go from one into the next" : ""}`,
    `THREADS = ${threads}`,
    `DEVICE = ${place.device}`,
    `HUGE_PAGE = ${alignmentMiB(pool)} << 20`,
    isHugetlb ? "MAP_HUGETLB = 0x40000 | 21 << 26  # with MAP_HUGE_2MB" : null,
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
    `    pages = -(-count // HUGE_PAGE)${isHuge ? " + 1  # one more, to align" : ""}`,
    "    memory = mmap.mmap(-1, pages * HUGE_PAGE, flags=flags)",
    "    whole = torch.frombuffer(memory, dtype=torch.uint8)",
    isHuge ? "    begin = -whole.data_ptr() % HUGE_PAGE" : null,
    isHuge ? "    piece = whole[begin : begin + count]" : "    return whole[:count]",
    isHuge ? "    libc.madvise(piece.data_ptr(), count, MADV_HUGEPAGE)" : null,
    isHuge ? "    return piece" : null,
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
          "    piece = map_piece(POOL_BYTES)",
          "    part = 32 << 20",
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
          "def obtain_piece(index):",
          "    pages = -(-POOL_BYTES // HUGE_PAGE)",
          "    begin, end = (pages * i // PIECES * HUGE_PAGE for i in (index, index + 1))",
          "    piece = map_piece(min(end, POOL_BYTES) - begin)",
          "    touch(piece.data_ptr(), piece.numel())",
          "    return register(piece)",
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

function pythonHead({ place }: ProgrammedPool, what: string): string[] {
  const run = numactl(place, "python pool.py");
  return [`# ${what}.`, ...(run === null ? [] : [`# ${run}`])];
}

function pinMemoryModule(pool: ProgrammedPool): string {
  const { shape, sizeBytes, place } = pool;
  const { pieces, threads } = shape;
  return lines(
    ...pythonHead(pool, `${summary(pool)[0]}: pin_memory=True`),
    pieces > 1 ? "from concurrent.futures import ThreadPoolExecutor" : null,
    pieces > 1 ? "" : null,
    "import torch",
    "",
    `POOL_BYTES = ${sizeBytes}`,
    pieces > 1 ? `PIECES = ${pieces}  # a tensor each` : null,
    pieces > 1 ? `THREADS = ${threads}` : null,
    `DEVICE = ${place.device}`,
    "",
    "",
    ...(pieces > 1
      ? [
          "def obtain_piece(index):",
          "    torch.cuda.set_device(DEVICE)  # of this thread",
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
          "    torch.cuda.set_device(DEVICE)",
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
