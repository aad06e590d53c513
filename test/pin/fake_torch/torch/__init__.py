"""As much of torch as the recommended modules use, without a GPU: it counts what is pinned, checks it, and
refuses the call whose number is in FAIL_AT, addresses that are no multiples of ALIGNMENT or have no pages yet, and threads
without a device."""
import atexit
import ctypes
import os
import sys
import threading

uint8 = "uint8"
_lock = threading.Lock()
_calls = 0
_registered = {}
_thread = threading.local()


def _has_pages(address, count):
    pages = (ctypes.c_ubyte * (-(-count // 4096)))()
    status = ctypes.CDLL(None).mincore(ctypes.c_void_p(address), ctypes.c_size_t(count), pages)
    return status == 0 and all(page & 1 for page in pages)


class Tensor:
    def __init__(self, memory, count, is_pinned, begin=0):
        self._memory, self._count, self._is_pinned = memory, count, is_pinned
        self._view = (ctypes.c_char * count).from_buffer(memory, begin)

    def __getitem__(self, part):
        begin, end, _ = part.indices(self._count)
        return Tensor(self._memory, end - begin, self._is_pinned, begin)

    def data_ptr(self):
        return ctypes.addressof(self._view)

    def numel(self):
        return self._count

    def is_pinned(self):
        return self._is_pinned or _registered.get(self.data_ptr(), 0) == self._count


def frombuffer(memory, dtype):
    assert dtype == uint8
    return Tensor(memory, len(memory), False)


def empty(count, dtype, pin_memory):
    assert dtype == uint8 and pin_memory and _thread.has_device
    return Tensor(bytearray(count), count, True)


class cuda:
    @staticmethod
    def init():
        pass

    @staticmethod
    def set_device(device):
        assert device == 0
        _thread.has_device = True

    @staticmethod
    def cudart():
        return cuda

    @staticmethod
    def cudaHostRegister(address, count, flags):
        global _calls
        assert flags == 1 and _thread.has_device and _has_pages(address, count)
        with _lock:
            _calls += 1
            if _calls == int(os.environ.get("FAIL_AT", 0)):
                return 2
            if address % int(os.environ.get("ALIGNMENT", 1)) != 0:
                return 1
            _registered[address] = count
        ctypes.memset(address, 1, count)  # all of it must be there
        return 0

    @staticmethod
    def cudaHostUnregister(address):
        ctypes.memset(address, 2, _registered.pop(address))
        return 0


atexit.register(lambda: print("held", len(_registered), file=sys.stderr))
