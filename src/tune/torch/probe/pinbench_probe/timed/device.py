"""The destination of batches: a GPU, or host memory."""

import statistics
import time

import torch

from .consumers import BlockingConsumer, HostConsumer, OverlappingConsumer


def find(rank):
    """The GPU that torch uses, or a replacement without one. `rank`: the process' rank, each with its own GPU."""
    if not torch.cuda.is_available():
        return HostDevice()
    if rank is None:
        return CudaDevice()
    count = torch.cuda.device_count()
    # As in training scripts, by LOCAL_RANK.
    torch.cuda.set_device(rank["index"] % count)
    return CudaDevice(shared_by=rank["count"] if count < rank["count"] else 1, count=count)


class HostDevice:
    """No GPU: batches stay where the loader puts them."""

    is_cuda = False
    name = None
    torch_device = "cpu"
    notes = ()

    def time_ns(self, action):
        start = time.perf_counter_ns()
        action()
        return time.perf_counter_ns() - start

    def link(self, _batch_bytes):
        return None

    def consumer(self, _setting, step, tell):
        return HostConsumer(step, tell)


class CudaDevice:
    is_cuda = True
    # Size from which larger copies are no faster.
    _LINK_BYTES = 256 << 20

    def __init__(self, shared_by=1, count=1):
        # Notes on it for the user, a sentence each.
        self.notes = []
        if shared_by > 1:
            said = "torch sees %d GPU%s, which %d ranks share here." % (count, "s" if count > 1 else "", shared_by)
            self.notes.append(said)
        torch.cuda.init()
        self.torch_device = torch.device("cuda", torch.cuda.current_device())
        self.name = torch.cuda.get_device_name(self.torch_device)

    def time_ns(self, action):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        action()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e6

    def link(self, batch_bytes):
        """Bytes a second of single copies, from pinned and from pageable memory."""
        size = max(1, min(batch_bytes, self._LINK_BYTES))
        there = torch.empty(size, dtype=torch.uint8, device=self.torch_device)
        pageable = torch.ones(size, dtype=torch.uint8)
        pinned = pageable.pin_memory()
        rates = []
        for here in (pinned, pageable):
            here_ns = []
            for _ in range(6):
                torch.cuda.synchronize()
                start = time.perf_counter_ns()
                there.copy_(here, non_blocking=True)
                torch.cuda.synchronize()
                here_ns.append(time.perf_counter_ns() - start)
            rates.append(size * 1e9 / statistics.median(here_ns[1:]))
        return {"pinnedBytesPerSecond": rates[0], "pageableBytesPerSecond": rates[1]}

    def consumer(self, setting, step, tell):
        overlaps = setting["pinMemory"] and setting["nonBlocking"]
        kind = OverlappingConsumer if overlaps else BlockingConsumer
        return kind(self.torch_device, setting["nonBlocking"], step, tell)
