import ctypes
import mmap
from concurrent.futures import ThreadPoolExecutor

import torch

# constants

MADV_POPULATE_WRITE = 23  # since Linux 5.14
PORTABLE = 1  # cudaHostRegisterPortable

libc = ctypes.CDLL(None)  # its calls let other threads run
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def map_pool():
    pages = -(-POOL_BYTES // ALIGNMENT)
    memory = mmap.mmap(-1, pages * ALIGNMENT + MARGIN, flags=MAP_FLAGS)
    whole = torch.frombuffer(memory, dtype=torch.uint8)
    begin = -whole.data_ptr() % ALIGNMENT if MARGIN else 0
    pool = whole[begin : begin + POOL_BYTES]
    libc.madvise(pool.data_ptr(), POOL_BYTES, PAGE_ADVICE)
    return pool


def touch(address, count):
    if libc.madvise(address, count, MADV_POPULATE_WRITE) != 0:
        ctypes.memset(address, 0, count)


def obtain():
    torch.cuda.set_device(DEVICE)
    pool = map_pool()
    part = 32 << 20

    def touch_part(at):
        touch(pool.data_ptr() + at, min(part, POOL_BYTES - at))

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(touch_part, range(0, POOL_BYTES, part)))
    cudart = torch.cuda.cudart()
    error = cudart.cudaHostRegister(pool.data_ptr(), POOL_BYTES, PORTABLE)
    if int(error) != 0:
        raise RuntimeError(f"cudaHostRegister: {error}")
    return pool


def release(pool):  # the memory goes with the last tensor that shows it
    torch.cuda.cudart().cudaHostUnregister(pool.data_ptr())


if __name__ == "__main__":
    pool = obtain()
    assert pool.is_pinned()
    print(pool.numel(), "bytes are pinned")
    release(pool)
