"""The processes that make batches (workers, or the training process itself): their start, the times of batches, their
end.
"""

import faulthandler
import json
import mmap
import os
import signal
import struct
import sys
import threading
import time

from . import guard

# For each of making, collating and handing over: number of batches, total ns, ns of the first.
_FIGURES = struct.Struct("=9Q")
_PARTS = (("made", "makeNs"), ("collated", "collateNs"), ("handedOver", "handOverNs"))
_MADE, _COLLATED, _HANDED = 0, 3, 6
# pinbench sends this signal to all processes of a hanging group; each writes its stack.
WHERE_SIGNAL = signal.SIGUSR2
# Number of batches per worker to compare: a part that never changes proves nothing.
_COMPARED = 2
# Number of values in a part of a batch (such as labels) that cannot be equal by chance.
_TELLING_VALUES = 8


class WorkerStart:
    """Wraps the user's worker_init_fn; can be pickled if that can. `folder` is for the worker's records."""

    def __init__(self, init_fn, folder, is_probe):
        self.init_fn = init_fn
        self.folder = folder
        self.is_probe = is_probe

    def __call__(self, worker_id):
        # Imported here, because spawned workers import this module before they need torch.
        from torch.utils.data import IterableDataset, get_worker_info
        from torch.utils.data._utils import fetch

        if self.is_probe:
            guard.begin_child()
            write_stack_on_signal(self.folder, "worker-%d" % worker_id)
        clock = Clock(_memory(_making_file(self.folder, os.getpid())))
        data_queue = sys._getframe(1).f_locals["data_queue"]  # a local of torch's _worker_loop
        data_queue._send_bytes = clock.timing_sending(data_queue._send_bytes)
        data_queue._on_queue_feeder_error = _sending_errors(data_queue)
        info = get_worker_info()
        if isinstance(info.dataset, IterableDataset):
            kind, first = fetch._IterableDatasetFetcher, _First(self.folder)
        else:
            kind, first = fetch._MapDatasetFetcher, None
        kind.fetch = _timed(kind.fetch, clock, first)
        if "pinbench_dataset" in getattr(info.dataset, "__dict__", ()):
            # The user's code must see its own data set, not pinbench's wrapper.
            object.__setattr__(info, "dataset", info.dataset.pinbench_dataset)
        if self.init_fn is not None:
            self.init_fn(worker_id)


def write_stack_on_signal(folder, name):
    """On WHERE_SIGNAL this process writes its stack to a file for pinbench, whichever thread holds the GIL."""
    # Never closed: the handler writes to it.
    file = os.open(os.path.join(folder, name + ".stack"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    faulthandler.register(WHERE_SIGNAL, file=file, all_threads=False, chain=False)


def _sending_errors(data_queue):
    """Sends an error in place of a batch that cannot be sent, so that torch does not wait for it forever."""
    from torch._utils import ExceptionWrapper

    return lambda _error, message: data_queue.put((message[0], ExceptionWrapper(where="in DataLoader worker process")))


class Clock:
    """Counts and times the batches made by this process."""

    def __init__(self, memory=None):
        self.figures = memoryview(memory or bytearray(_FIGURES.size)).cast("Q")

    def add(self, part, ns):
        if self.figures[part] == 0:
            self.figures[part + 2] = ns
        self.figures[part + 1] += ns
        self.figures[part] += 1

    def timing_sending(self, send):
        """Adds the CPU time, without waits, of the thread that only pickles batches and writes them to the pipe."""
        until = 0

        def timed(*arguments):
            nonlocal until
            send(*arguments)
            before, until = until, time.thread_time_ns()
            self.add(_HANDED, until - before)

        return timed


def time_own(iterator):
    """Attaches a Clock to an iterator that makes its batches in this process."""
    clock, fetcher = Clock(), iterator._dataset_fetcher
    fetcher.fetch = _timed(type(fetcher).fetch, clock, None).__get__(fetcher)
    return clock


def _timed(fetch, clock, first):
    def timed(fetcher, indices):
        # Without auto-collation the data set makes whole batches.
        if fetcher.auto_collation and not hasattr(fetcher, "pinbench_collate"):
            fetcher.pinbench_collate = fetcher.collate_fn
            fetcher.collate_fn = collate(fetcher.collate_fn)
        start = time.perf_counter_ns()
        batch = fetch(fetcher, indices)
        clock.add(_MADE, time.perf_counter_ns() - start)
        if first is not None:
            first.note(batch)
        return batch

    def collate(of_user):
        def collated(samples):
            start = time.perf_counter_ns()
            batch = of_user(samples)
            clock.add(_COLLATED, time.perf_counter_ns() - start)
            return batch

        return collated

    return timed


def _memory(path):
    """A file that outlives the worker. None without disk space or descriptors; then its batches are not timed."""
    try:
        with open(path, "w+b") as file:
            file.truncate(_FIGURES.size)
            return mmap.mmap(file.fileno(), _FIGURES.size)
    except OSError:
        return None


def figures(folder, pids, clock):
    """Number and total nanoseconds of batches made by workers, or by this process (`clock`). Ignores each process'
    first batch if there are others: it includes imports and opening files.
    """
    total = dict.fromkeys(sum(_PARTS, ()), 0)
    for each in [clock.figures] if clock is not None else [_read(folder, pid) for pid in pids]:
        for index, (count, ns) in enumerate(_PARTS):
            batches, sum_ns, first_ns = each[3 * index : 3 * index + 3]
            total[count] += batches - (batches > 1)
            total[ns] += sum_ns - (first_ns if batches > 1 else 0)
    return total


def _read(folder, pid):
    try:
        with open(_making_file(folder, pid), "rb") as file:
            return _FIGURES.unpack(file.read(_FIGURES.size))
    except (OSError, struct.error):
        return (0,) * 9


def _making_file(folder, pid):
    return os.path.join(folder, "making-%d" % pid)


def _first_file(folder, pid):
    return os.path.join(folder, "first-%d.json" % pid)


class _First:
    """Writes fingerprints of a worker's first batches to a file, for `sample_copies`."""

    def __init__(self, folder):
        self._path = _first_file(folder, os.getpid())
        self._batches = []

    def note(self, batch):
        from .batch import fingerprint

        if len(self._batches) < _COMPARED:
            self._batches.append(fingerprint(batch))
            if len(self._batches) == _COMPARED:
                try:
                    with open(self._path, "w") as file:
                        json.dump(self._batches, file)
                except OSError:
                    pass  # no disk space: the result stays unknown


def sample_copies(folder, pids):
    """Number of workers that delivered each sample of a stream: 1 if they share it out; None if unknown."""
    groups, count = [], 0
    for pid in pids:
        try:
            with open(_first_file(folder, pid)) as file:
                parts = _by_part(json.load(file))
        except (OSError, ValueError):
            continue  # it made no second batch
        if not parts:
            continue  # all its samples are equal
        count += 1
        if not any(_are_alike(each, parts) for each in groups):
            groups.append(parts)
    return count / len(groups) if count > 1 else None


def _by_part(batches):
    """(number of values, their digests) for each part that varies between a worker's batches."""
    parts = (tuple(zip(*part)) for part in zip(*batches))
    return [(sum(counts), digests) for counts, digests in parts if len(set(digests)) > 1]


def _are_alike(one, other):
    return any(a == b and a[0] >= _TELLING_VALUES for a, b in zip(one, other))


def of(iterator):
    return list(getattr(iterator, "_workers", None) or ())


def pids_of(iterator):
    return [worker.pid for worker in of(iterator)]


def end(iterator, grace):
    """Ends an iterator's workers as torch does; kills them after `grace` seconds."""
    processes = of(iterator)
    if not processes:
        return
    killer = threading.Timer(grace, _kill, [processes])
    killer.daemon = True
    killer.start()
    try:
        iterator._shutdown_workers()
    finally:
        killer.cancel()
        _kill(processes)


def _kill(processes):
    for process in processes:
        if process.exitcode is None:
            process.kill()
