"""Makes some of the script's batches once more in separate workers, to compare them; they are discarded."""

import hashlib
import sys
import time

import torch

from ..probe import probe_module
from ..seen import observer
from ..tried import deaths, failures, handlers
from ..tried.feed import Feed
from ..tried.inner import Inner, forks, is_stream

leaves = probe_module("leaves")
sharding = probe_module("sharding")
worker_records = probe_module("worker_records")

_MOST_LEAVES, _MOST_BYTES = 10_000, 1 << 26
# Batches of a stream: enough for each of two workers to show whether their samples differ.
_STREAM_WORKERS, _STREAM_BATCHES = 2, 6
# A worker that is not forked imports all that the script imports.
_START_SECONDS = 25
_POLL_SECONDS = 0.001


class Comparison:
    """`drawn`: index lists, which a worker uses in the opposite order so that effects of earlier batches show. For a
    stream, two workers make their first batches.
    """

    def __init__(self, loader, watched, drawn):
        self.failure = None
        # digest() of each, in the order of `drawn`; for a stream, how many workers delivered each sample.
        self.digests = []
        self.sample_copies = None
        # The worker's Observer record of its own batches.
        self.seen = None
        self._watched = watched
        self._is_stream = is_stream(loader)
        self._began = time.monotonic()
        self._batches = _STREAM_BATCHES if self._is_stream else len(drawn)
        workers = _STREAM_WORKERS if self._is_stream else 1
        setting = {"numWorkers": workers, "pinMemory": False, "prefetchFactor": 2, "persistentWorkers": False}
        self._inner = Inner(loader, setting, -1, watched.session.folder, is_observed=True)
        self._got = []
        try:
            self._inner.start(Feed(reversed(drawn)))
            deaths.watch(self._inner)
            self._inner.open()
            self._seconds = watched.patience.seconds(workers, True) + (0 if forks(loader) else _START_SECONDS)
        except Exception as error:
            self._fail(error)

    def poll(self):
        """Takes new results; true when finished."""
        if self._inner is None:
            return True
        try:
            self._take()
            is_over = len(self._got) == self._batches
        except StopIteration:
            is_over = True
        except Exception as error:
            if handlers.has_raised(error):
                raise
            self._fail(error)
            return True
        if is_over:
            self._conclude()
        return is_over

    def wait(self, seconds):
        """Waits for a result, at most this long."""
        end = time.monotonic() + seconds
        while not self.poll() and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)

    def end(self, grace=1):
        if self._inner is not None:
            inner, self._inner = self._inner, None
            deaths.end(inner, grace)

    def _take(self):
        inner = self._inner
        while len(self._got) < self._batches:
            if inner.iterator._data_queue.empty() and deaths.exit_code(inner) is None:
                if time.monotonic() - self._began > self._seconds:
                    raise deaths.TookTooLong(self._seconds)
                return
            batch = deaths.next_of(inner, self._seconds)
            if not self._got:
                self._watched.patience.started(time.monotonic() - self._began)
            self._got.append(None if self._is_stream else digest(batch))

    def _conclude(self):
        folder, pids = self._inner.folder, self._inner.worker_pids()
        self.seen = worker_records.take(observer.path_of(folder, pids[0]))
        if self._is_stream:
            self.sample_copies = sharding.sample_copies(folder, pids)
        self.digests = self._got[::-1]
        self.end()

    def _fail(self, error):
        self.failure = failures.describe(error, self._inner, has_started=bool(self._inner.worker_pids()))
        self.end(0 if isinstance(error, deaths.TookTooLong) else 1)


def digest(batch):
    """A digest of a batch, byte for byte; of a very large one, of its first bytes."""
    found = hashlib.blake2b(digest_size=16)
    left = _MOST_BYTES
    for leaf in leaves.leaves(batch, _MOST_LEAVES):
        data = _bytes_of(leaf, left)
        left = max(0, left - len(data))
        found.update(b"%d " % len(data))
        found.update(data)
    return found.digest()


def opaque(batch):
    """The name of a type in it whose objects cannot be compared between processes; None without any."""
    return next((leaf.__name__ for leaf in leaves.leaves(batch, _MOST_LEAVES) if isinstance(leaf, type)), None)


def _bytes_of(leaf, most):
    if isinstance(leaf, type):
        return leaf.__name__.encode()
    if isinstance(leaf, torch.Tensor):
        return _kind_of(leaf) + _bytes_of_tensor(leaf, most)
    if leaves.is_array(leaf):
        return _kind_of(leaf) + leaf.reshape(-1)[: max(1, most // max(1, leaf.itemsize))].tobytes()
    if isinstance(leaf, (bytes, bytearray)):
        return bytes(leaf[:most])
    return repr(leaf)[:most].encode(errors="replace")


def _kind_of(array):
    return ("%s %s " % (array.dtype, tuple(array.shape))).encode()


def _bytes_of_tensor(tensor, most):
    # Tensors on a GPU would have to be waited for.
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided or tensor.is_quantized:
        return b""
    flat = tensor.detach().reshape(-1)[: max(1, most // tensor.element_size())]
    # A copy: the script cannot resize a tensor any more that NumPy has looked at.
    flat = flat.resolve_conj().resolve_neg().clone().contiguous().view(torch.uint8)
    return flat.numpy().tobytes() if "numpy" in sys.modules else bytes(flat[:4096].tolist())
