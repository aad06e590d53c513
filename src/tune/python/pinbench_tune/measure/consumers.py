"""The destination of batches (a GPU or host memory), and training loops that use them there.

Each loop gets two objects. `step` is called with each batch on the device; None for no step. `tell` has `arrived(ns)`,
for the time at which a batch arrived, and `expect()`, for a batch still being copied. After expect(), another thread
calls `collect()` repeatedly.
"""

import collections
import statistics
import time

import torch

from ..batch import copy


def find_device(rank):
    """The GPU that torch uses, or host memory without one. Ranks share GPUs only if there are too few."""
    if not torch.cuda.is_available():
        return HostDevice()
    if rank is None:
        return CudaDevice([])
    count, notes = torch.cuda.device_count(), []
    # Like training scripts do with LOCAL_RANK.
    torch.cuda.set_device(rank["index"] % count)
    if count < rank["count"]:
        notes.append("%d ranks share the GPUs that torch sees: %d." % (rank["count"], count))
    return CudaDevice(notes)


class HostDevice:
    """Without a GPU, batches stay where the loader puts them."""

    is_cuda = False
    name = None
    torch_device = "cpu"
    notes = []

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
    # Larger copies are no faster.
    _LINK_BYTES = 256 << 20

    def __init__(self, notes):
        self.notes = notes
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
        """Rates of single copies, in bytes per second, from pinned and from pageable memory."""
        size = max(1, min(batch_bytes, self._LINK_BYTES))
        there = torch.empty(size, dtype=torch.uint8, device=self.torch_device)
        pageable = torch.ones(size, dtype=torch.uint8)
        rates = []
        for here in (pageable.pin_memory(), pageable):
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


class HostConsumer:
    """A training loop on the CPU."""

    def __init__(self, step, tell):
        self._step = step
        self._tell = tell
        # Whether an error comes from the step, or from the use of a batch before it.
        self.is_in_step = False
        self.copy_ns = 0

    def start(self):
        """Called just before the loader starts."""

    def take(self, batch):
        self._tell.arrived(time.perf_counter_ns())
        self._run_step(batch)

    def finish(self):
        """Waits for running copies and steps."""

    def collect(self):
        """Reports new arrivals; returns whether more are expected."""
        return False

    def _run_step(self, batch):
        if self._step is not None:
            self.is_in_step = True
            self._step(batch)
            self.is_in_step = False


class BlockingConsumer(HostConsumer):
    """A training loop with copy and step on one stream, like `batch.to(device)` and a model's forward. Waits for each
    copy.

    The host fetches the next batch while the step runs. It launches no step before the last one has ended, like a loop
    that reads the last loss, or has queued enough steps.
    """

    def __init__(self, device, non_blocking, step, tell):
        super().__init__(step, tell)
        self._device = device
        self._non_blocking = non_blocking
        self._step_done = None
        self._copies = None

    def take(self, batch):
        # Otherwise the copy would wait behind the step in the stream, and its time would be too long.
        self.finish()
        start = time.perf_counter_ns()
        self._copies = copy(batch, self._device, self._non_blocking)
        torch.cuda.current_stream().synchronize()
        end = time.perf_counter_ns()
        self.copy_ns += end - start
        self._tell.arrived(end)
        self._launch_step()

    def finish(self):
        if self._step_done is not None:
            self._step_done.synchronize()
            self._step_done = None

    def _launch_step(self):
        if self._step is not None:
            self._run_step(self._copies)
            self._step_done = torch.cuda.Event()
            self._step_done.record()


class OverlappingConsumer(BlockingConsumer):
    """Fetches the next batch during the copy of this one. One copy runs at a time.

    An event after each copy records its end by the GPU's clock. The loop itself would see it only after fetching the
    next batch, and a waiting thread would take the interpreter from those that fetch.
    """

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._copy_done = None
        # Events of unreported copies, oldest first.
        self._under_way = collections.deque()
        # The same moment on both clocks; they drift apart by some microseconds a second.
        self._reference = torch.cuda.Event(enable_timing=True)
        self._reference_ns = self._last_ns = 0

    def start(self):
        torch.cuda.current_stream().synchronize()
        self._reference.record()
        self._reference.synchronize()
        self._reference_ns = self._last_ns = time.perf_counter_ns()

    def take(self, batch):
        start = time.perf_counter_ns()
        # These copies are issued before the previous ones are freed, so that they get other memory.
        self._copies = copy(batch, self._device, True)
        done = torch.cuda.Event(enable_timing=True)
        done.record()
        self.copy_ns += time.perf_counter_ns() - start
        self._under_way.append(done)
        self._tell.expect()
        super().finish()
        self._wait_for_copy()
        self._copy_done = done
        self._launch_step()

    def finish(self):
        self._wait_for_copy()
        super().finish()

    def collect(self):
        while self._under_way and self._under_way[0].query():
            done = self._under_way[0]
            ns = self._reference_ns + round(self._reference.elapsed_time(done) * 1e6)
            # The clocks are inexact, so the order is enforced.
            self._last_ns = min(max(ns, self._last_ns), time.perf_counter_ns())
            self._tell.arrived(self._last_ns)
            self._under_way.popleft()
        return len(self._under_way) > 0

    def _wait_for_copy(self):
        if self._copy_done is not None:
            start = time.perf_counter_ns()
            self._copy_done.synchronize()
            self.copy_ns += time.perf_counter_ns() - start
            self._copy_done = None
