"""Times the making of batches where they are made: in a loader's workers, or in the training process itself.

On its own, so that it can be used in any process that has torch: `install()` there before workers start, and in a
worker that is spawned before it makes its first batch; `totals()` in the process that has started the workers.
"""

import functools
import mmap
import os
import struct
import threading
import time

# Batches, nanoseconds of all of them, nanoseconds of the first.
_FIGURES = struct.Struct("=QQQ")

_folder = None
_own = None
# Sees each batch before and after it is made, for as long as it wants to.
_observer = None
# A batch may be made of those of another loader: the outermost counts.
_nesting = threading.local()


def install(folder):
    """Has every batch timed that this process makes from now on, and each worker that it forks; again does no harm.

    `folder` gets a small file of each worker's figures, by which they reach the process that has started it; with None
    there is no such file, and of a worker nothing is known.
    """
    global _folder
    # Not before: workers that are spawned import this module before they need torch.
    from torch.utils.data._utils import fetch

    _folder = folder
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        kind = getattr(fetch, name, None)
        if kind is not None and not hasattr(kind.fetch, "pinbench_times"):
            kind.fetch = _timed(kind.fetch)


def observe(observer):
    """Has `observer.before(fetcher)` and `observer.after(fetcher)` called around the making of each batch here; None ends
    that, and so does whatever they raise, which stands in `observer.error` then.
    """
    global _observer
    _observer = observer


def totals(folder, pids):
    """(batches, nanoseconds of them together) that these processes have made: this one, or workers, ended ones too.

    The first batch of a process is left out where it has made others: it also pays for imports and for opening files.
    """
    batches = nanoseconds = 0
    for pid in pids:
        count, sum_ns, first_ns = _figures_of(folder, pid)
        if count > 1:
            count, sum_ns = count - 1, sum_ns - first_ns
        batches, nanoseconds = batches + count, nanoseconds + sum_ns
    return batches, nanoseconds


def forget(folder, pids):
    """Begins anew for this process, and for workers that have ended: another process may get the number of one."""
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
        start = time.perf_counter_ns()
        try:
            batch = fetch(*arguments)
        finally:
            _nesting.is_inside = False
        _add(time.perf_counter_ns() - start)
        if observer is not None:
            _show(observer, observer.after, arguments[0])
        return batch

    timed.pinbench_times = True
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
    """A worker's is a file that outlives it. The training process keeps its own to itself: no file descriptor there."""
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
            pass  # no room, or no more files: this worker's batches are not timed
    return bytearray(_FIGURES.size)


def _add(ns):
    global _own
    if _own is None or _own.pid != os.getpid():
        _own = _Own()
    figures = _own.figures
    if figures[0] == 0:
        figures[2] = ns
    figures[1] += ns
    figures[0] += 1


def _figures_of(folder, pid):
    if pid == os.getpid():
        return (0, 0, 0) if _own is None or _own.pid != pid else tuple(_own.figures)
    try:
        with open(_file_of(folder, pid), "rb") as file:
            return _FIGURES.unpack(file.read(_FIGURES.size))
    except (OSError, struct.error):
        return 0, 0, 0


def _file_of(folder, pid):
    return os.path.join(folder, "making-%d" % pid)
