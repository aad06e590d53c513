"""Where batches go: a GPU, or nowhere."""

import statistics
import time

import torch

from .batch import copy


def find():
    return CudaDevice() if torch.cuda.is_available() else HostDevice()


class HostDevice:
    """No GPU: batches stay where the loader puts them."""

    is_cuda = False
    name = None
    torch_device = "cpu"

    def time_ns(self, action):
        start = time.perf_counter_ns()
        action()
        return time.perf_counter_ns() - start

    def link(self, _batch_bytes):
        return None

    def consumer(self, _setting, step, arrived):
        return HostConsumer(step, arrived)


class HostConsumer:
    """A training loop on the CPU."""

    def __init__(self, step, arrived):
        self._step = step
        self._arrived = arrived
        self.copy_ns = 0

    def take(self, _batch):
        self._arrived(time.perf_counter_ns())
        if self._step is not None:
            self._step()

    def finish(self):
        pass


class CudaDevice:
    is_cuda = True
    # Large batches are copied no faster than this much of them.
    _LINK_BYTES = 256 << 20

    def __init__(self):
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
        """Bytes a second of one copy at a time, from pinned and from pageable memory."""
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

    def consumer(self, setting, step, arrived):
        overlaps = setting["pinMemory"] and setting["nonBlocking"]
        kind = OverlappingConsumer if overlaps else BlockingConsumer
        return kind(self.torch_device, setting["nonBlocking"], step, arrived)


class _CudaConsumer:
    """A training loop: copy and step on one stream, as `batch.to(device)` and a model's forward have it.

    The host never waits for the step that it has just launched but fetches the next batch meanwhile, and launches no
    step before the last one is done: what a loop does that looks at the last loss, or has queued enough.
    """

    def __init__(self, device, non_blocking, step, arrived):
        self._device = device
        self._non_blocking = non_blocking
        self._step = step
        self._arrived = arrived
        self._step_done = None
        self._copies = None
        self.copy_ns = 0

    def _wait_for_step(self):
        if self._step_done is not None:
            self._step_done.synchronize()
            self._step_done = None

    def _launch_step(self):
        if self._step is not None:
            self._step()
            self._step_done = torch.cuda.Event()
            self._step_done.record()


class BlockingConsumer(_CudaConsumer):
    """The copy is waited for where it is issued."""

    def take(self, batch):
        # The copy would wait for it, being behind it in the stream; that time is not the copy's.
        self._wait_for_step()
        start = time.perf_counter_ns()
        self._copies = copy(batch, self._device, self._non_blocking)
        torch.cuda.current_stream().synchronize()
        end = time.perf_counter_ns()
        self.copy_ns += end - start
        self._arrived(end)
        self._launch_step()

    def finish(self):
        self._wait_for_step()


class OverlappingConsumer(_CudaConsumer):
    """The next batch is fetched while the copy of this one is under way: one at a time, known of with the next one."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._copy_done = None

    def take(self, batch):
        start = time.perf_counter_ns()
        # The last copies are let go only now, when these are issued: their memory is not needed for these.
        self._copies = copy(batch, self._device, True)
        done = torch.cuda.Event()
        done.record()
        self.copy_ns += time.perf_counter_ns() - start
        self._wait_for_step()
        self._wait_for_copy()
        self._copy_done = done
        self._launch_step()

    def finish(self):
        self._wait_for_copy()
        self._wait_for_step()

    def _wait_for_copy(self):
        if self._copy_done is None:
            return
        start = time.perf_counter_ns()
        self._copy_done.synchronize()
        end = time.perf_counter_ns()
        self.copy_ns += end - start
        self._copy_done = None
        self._arrived(end)
