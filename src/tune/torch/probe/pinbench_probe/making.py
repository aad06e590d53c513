"""Times the making of batches where they are made: in a loader's workers, or in the training process itself.

Independent of the probe, so that any process with torch can use it: `install()` before workers start, and in a
spawned worker before its first batch; `totals()` in the process that has started the workers.
"""

import functools
import itertools
import mmap
import os
import struct
import threading
import time

# Three records of: number of batches, nanoseconds of all of them, nanoseconds of the first; for making, and with
# `split()` for collating and handing over.
_FIGURES = struct.Struct("=9Q")
_MADE, _COLLATED, _HANDED = 0, 3, 6
_NONE = (0,) * 9

_folder = None
_own = None
# Called before and after each batch is made, until it stops.
_observer = None
# Whether collating is timed as well.
_is_split = False
# A batch may be made from another loader's batches: the outermost counts.
_nesting = threading.local()


def install(folder):
    """Times every batch that this process and the workers it forks make from now on; a second call does no harm.

    `folder` gets a small file with each worker's figures, for the process that has started it; with None
    there is no such file, and nothing is known about workers.
    """
    global _folder
    # Not earlier: spawned workers import this module before they need torch.
    from torch.utils.data._utils import fetch

    _folder = folder
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        kind = getattr(fetch, name, None)
        if kind is not None and not hasattr(kind.fetch, "pinbench_times"):
            kind.fetch = _timed(kind.fetch)


def split(worker_loop):
    """In a worker, before its first batch: also times collating and handing over, if possible.

    `worker_loop`: torch's frame. Handing over is the CPU time of the thread that pickles batches and writes them to the
    pipe, because it may wait there for the reader.
    """
    global _is_split, _own
    try:
        _own = _Own()
        _is_split = True
        queue = worker_loop.f_locals["data_queue"]
        queue._send_bytes = _timed_sending(queue._send_bytes)
    except Exception:
        pass  # another torch


def observe(observer):
    """Calls `observer.before(fetcher)` and `observer.after(fetcher)` around the making of each batch here. None stops
    that, and so does an exception that they raise, which is then in `observer.error`.
    """
    global _observer
    _observer = observer


def totals(folder, pids):
    """(batches, their total nanoseconds) made by this process, or by its workers, ended ones too.

    The first batch of a process is left out if it has made others: it also pays for imports and for opening files.
    """
    return _sum(map(_figures_of, itertools.repeat(folder), pids), _MADE)


def parts(folder, pids):
    """The same for collating and handing over: {"collated", "collateNs", "handedOver", "handOverNs"}; 0 batches if not
    timed.
    """
    figures = [_figures_of(folder, pid) for pid in pids]
    collated, collate_ns = _sum(figures, _COLLATED)
    handed_over, hand_over_ns = _sum(figures, _HANDED)
    return {"collated": collated, "collateNs": collate_ns, "handedOver": handed_over, "handOverNs": hand_over_ns}


def _sum(figures, part):
    batches = nanoseconds = 0
    for each in figures:
        count, sum_ns, first_ns = each[part : part + 3]
        if count > 1:
            count, sum_ns = count - 1, sum_ns - first_ns
        batches, nanoseconds = batches + count, nanoseconds + sum_ns
    return batches, nanoseconds


def forget(folder, pids):
    """Restarts for this process and for ended workers, because another process may get an ended one's number."""
    global _own
    for pid in pids:
        if pid == os.getpid():
            _own = None
            continue
        try:
            os.unlink(_file_of(folder, pid))
        except OSError:
            pass


def _timed(fetch):
    @functools.wraps(fetch)
    def timed(*arguments):
        if getattr(_nesting, "is_inside", False):
            return fetch(*arguments)
        _nesting.is_inside = True
        observer = _observer
        if observer is not None:
            _show(observer, observer.before, arguments[0])
        if _is_split:
            _split_fetcher(arguments[0])
        start = time.perf_counter_ns()
        try:
            batch = fetch(*arguments)
        finally:
            _nesting.is_inside = False
        _add(_MADE, time.perf_counter_ns() - start)
        if observer is not None:
            _show(observer, observer.after, arguments[0])
        return batch

    timed.pinbench_times = True
    return timed


def _split_fetcher(fetcher):
    """Without auto-collation, the data set itself makes batches."""
    if getattr(fetcher, "auto_collation", False) and not hasattr(fetcher.collate_fn, "pinbench_times"):
        fetcher.collate_fn = _timed_collating(fetcher.collate_fn)


def _timed_collating(collate):
    def timed(samples):
        start = time.perf_counter_ns()
        batch = collate(samples)
        _add(_COLLATED, time.perf_counter_ns() - start)
        return batch

    timed.pinbench_times = True
    return timed


def _timed_sending(send):
    until = 0

    def timed(*arguments):
        nonlocal until
        send(*arguments)
        # The thread does nothing else.
        before, until = until, time.thread_time_ns()
        _add(_HANDED, until - before)

    return timed


def _show(observer, method, fetcher):
    try:
        method(fetcher)
    except Exception as error:
        observer.error = error
        observe(None)


class _Own:
    def __init__(self):
        self.pid = os.getpid()
        self.figures = memoryview(_memory(self.pid)).cast("Q")


def _memory(pid):
    """A worker's record is a file that outlives it. The training process keeps its own in memory, without a file
    descriptor.
    """
    from torch.utils.data import get_worker_info

    if get_worker_info() is not None and _folder is not None:
        try:
            file = os.open(_file_of(_folder, pid), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                os.ftruncate(file, _FIGURES.size)
                return mmap.mmap(file, _FIGURES.size)
            finally:
                os.close(file)
        except OSError:
            pass  # no space or no descriptors: this worker's batches are not timed
    return bytearray(_FIGURES.size)


def _add(part, ns):
    global _own
    if _own is None or _own.pid != os.getpid():
        _own = _Own()
    figures = _own.figures
    if figures[part] == 0:
        figures[part + 2] = ns
    figures[part + 1] += ns
    figures[part] += 1


def _figures_of(folder, pid):
    if pid == os.getpid():
        return _NONE if _own is None or _own.pid != pid else tuple(_own.figures)
    try:
        with open(_file_of(folder, pid), "rb") as file:
            return _FIGURES.unpack(file.read(_FIGURES.size))
    except (OSError, struct.error):
        return _NONE


def _file_of(folder, pid):
    return os.path.join(folder, "making-%d" % pid)
