"""Checks for reasons not to change the number of workers.

Two more need trials (src/tune/search/recommend.ts): objects that do not pickle, and memory that grows with workers.
"""

import collections
import dis
import gc
import io
import multiprocessing.managers
import multiprocessing.queues
import os
import queue
import random
import resource
import stat
import sys
import time
import types
import weakref

import torch

from .batch import fingerprint
from .facts import open_files
from .faults import is_library

# Time limits in seconds: CPU time for walking through the data set's objects, and time for making samples to compare.
_WALK_SECONDS = 1
_MAKING_SECONDS = 0.5
_LEAST_COMPARED, _MOST_COMPARED = 2, 8
# Samples count as kept if making them again takes at most this share of the first time, and saves this many seconds:
# more than sending a batch takes.
_KEPT_SHARE, _KEPT_SECONDS = 0.5, 0.0005
# A loop keeps its batches if at least this share stays open; with fewer than this many batches nothing is concluded.
_KEPT_BATCHES, _LEAST_BATCHES = 0.5, 20

# A proxy of multiprocessing.Manager connects anew in each process.
_PLAIN = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, torch.Tensor, types.ModuleType),
    multiprocessing.managers.BaseProxy,
)
_QUEUES = (queue.Queue, queue.SimpleQueue, multiprocessing.queues.Queue, multiprocessing.queues.SimpleQueue)
# Packages whose objects hold a connection or a file in C, where Python cannot see it.
_IN_C = ("sqlite3", "h5py", "psycopg2")


def stream(copies, workers):
    """Checks a stream. `copies`: number of workers that delivered each sample, None if unknown."""
    if copies is None or copies <= 1:
        return None
    return (
        "The IterableDataset does not share its samples out between workers: each of %d workers delivers all of them. "
        "Have __iter__ take its part by torch.utils.data.get_worker_info()." % workers
    )


def held(*roots):
    """Finds objects that processes must not share: ("connection" or "file", sentence)."""
    for one in _reachable(roots, time.thread_time() + _WALK_SECONDS):
        check, name = _shared(one)
        if check is not None:
            what = "mix up its answers" if check == "connection" else "share its position, which a seek or a read moves for all"
            return check, (
                "The data set holds %s when workers start: they would %s. "
                "Open it in __getitem__, or in worker_init_fn, once in each worker." % (name, what)
            )
    return None


def different(here, there):
    """Compares fingerprints of the same samples, each made twice in this process and twice in an early worker."""
    if here[0] != here[1] or there[0] != there[1] or here[0] == there[0]:
        return None
    return (
        "Workers make other samples than the training process from the same indices and random seeds. What the loop "
        "changes in the data set, worker_init_fn, a cache or hash() of a text can differ there: have each sample depend "
        "on its index and torch's random numbers alone."
    )


def keeps(first_seconds, again_seconds):
    """Compares a worker's times to make samples and to make them again. The files are in the page cache both times."""
    pairs = list(zip(first_seconds, again_seconds))
    if not all(again <= _KEPT_SHARE * first and first - again >= _KEPT_SECONDS for first, again in pairs):
        return None
    return (
        "The data set keeps the samples that it has read. Workers keep them in copies of their own, which end with each "
        "epoch. Keep them in shared memory or in files, or stay with the script's number of workers."
    )


def files(kept, batches, under_way, epoch):
    """`kept`: files opened over `batches` batches and still open; batches in flight may hold `under_way` of them. Within
    an epoch of `epoch` batches (None: unknown), a loop may keep all of them and drop them at its end.
    """
    if batches < _LEAST_BATCHES or kept < _KEPT_BATCHES * batches or kept <= under_way:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    each = max(1, round(kept / batches))
    left = max(0, limit - open_files() + kept) // each
    if epoch is not None and kept <= each * epoch < each * left:
        return None
    return (
        "The loop keeps its batches, and each batch from a worker holds %d open files: the limit of %d is reached after "
        "about %d batches. Call torch.multiprocessing.set_sharing_strategy('file_system'), or keep copies (.clone())."
        % (each, limit, left)
    )


class Inspection:
    """Inspects a loader without workers (existing workers would already show these problems). Begins before its first
    batch. Calls `speak(check, message)` for each problem.
    """

    def __init__(self, loader, speak, start_method):
        self._dataset = loader.dataset
        self._speak = speak
        # Indices of the samples made last in this process.
        self._drawn = collections.deque(maxlen=_MOST_COMPARED)
        self._held = held(loader.dataset, loader.collate_fn)
        is_stream = isinstance(loader.dataset, torch.utils.data.IterableDataset)
        # Other workers import the script; without a main guard they would run it again.
        may_start = start_method == "fork" and not is_stream and self._held is None
        self._worker = EarlyWorker(loader) if may_start else None

    def drawn(self, indices):
        """Records the indices of a batch made in this process; None for a stream."""
        if indices is not None:
            self._drawn.extend(indices if isinstance(indices, list) else [indices])

    def chosen(self):
        """Called if the loader will be tuned. Reports shared objects before any trial."""
        if self._held is not None:
            self._speak(*self._held)

    def end(self):
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def judge(self):
        """Called before the first setting with workers."""
        made = self._worker and self._worker.compare(list(self._drawn))
        self.end()
        if made:
            here, there, first_seconds, again_seconds = made
            for check, message in (
                ("different", different(here, there)),
                ("keeps", keeps(first_seconds, again_seconds)),
            ):
                if message is not None:
                    self._speak(check, message)


class EarlyWorker:
    """A worker started before the loop's first batch: like the loop's workers, it sees no later changes of the data."""

    def __init__(self, loader):
        context = loader.multiprocessing_context or torch.multiprocessing
        self._dataset = loader.dataset
        self._connection, other = context.Pipe()
        arguments = other, loader.dataset, loader.worker_init_fn
        self._process = context.Process(target=_answer, args=arguments, daemon=True)
        try:
            self._process.start()
        except Exception:  # for example, it does not pickle; a trial with workers reports that
            self._process = None
        other.close()

    def compare(self, indices):
        """(fingerprints here, those of the worker, its seconds per sample, and again); None if that fails."""
        if self._process is None or len(indices) < _LEAST_COMPARED:
            return None
        try:
            here, _ = _made(self._dataset, indices)
            indices = indices[: len(here)]
            here = here, _made(self._dataset, indices)[0]
            # The worker's first sample also opens files and imports, so it does not count.
            self._connection.send((indices[:1], indices[1:]))
            if not self._connection.poll(10 * _MAKING_SECONDS):
                return None
            there, (first, again) = self._connection.recv()
            return [each[1 : 1 + len(again)] for each in here], there, first, again
        except Exception:  # an error of the data set; a trial reports it
            return None

    def end(self):
        self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()


def _answer(connection, dataset, init_fn):
    from torch.utils.data._utils import worker

    worker._worker_info = worker.WorkerInfo(id=0, num_workers=1, seed=0, dataset=dataset)
    try:
        if init_fn is not None:
            init_fn(0)
        before, indices = connection.recv()
        _made(dataset, before)
        there, first = _made(dataset, indices)
        again, seconds = _made(dataset, indices[: len(there)])
        connection.send(((there[: len(again)], again), (first[: len(again)], seconds)))
    except (Exception, KeyboardInterrupt):
        pass  # an error of the data set; a trial reports it


def _made(dataset, indices):
    """(fingerprints of samples, seconds to make each). Seeds all generators alike. Stops after a time limit."""
    made, seconds, until = [], [], time.monotonic() + _MAKING_SECONDS
    for index in indices:
        if len(made) >= _LEAST_COMPARED and time.monotonic() > until:
            break
        torch.manual_seed(0)
        random.seed(0)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(0)
        began = time.perf_counter()
        sample = dataset[index]
        seconds.append(time.perf_counter() - began)
        made.append(fingerprint(sample))
    return made, seconds


def _reachable(roots, until):
    """Yields the user's objects that `roots` refer to, nearest first, until this thread's CPU time reaches `until`."""
    waiting, seen = collections.deque(roots), {}
    while waiting and time.thread_time() < until:
        one = waiting.popleft()
        if id(one) in seen or issubclass(type(one), (*_PLAIN, weakref.ProxyType, weakref.CallableProxyType)):
            continue
        # Keeps the object alive, so that no new object gets its id.
        seen[id(one)] = one
        if isinstance(one, types.FunctionType):
            if not is_library(one.__code__.co_filename):
                waiting.extend(_used_by(one))
        elif isinstance(one, type):
            if not is_library(getattr(sys.modules.get(one.__module__), "__file__", None) or ""):
                waiting.extend([*vars(one).values(), *one.__bases__])
        else:
            yield one
            waiting.extend([*gc.get_referents(one), type(one)])


def _used_by(function):
    """The objects that a function refers to, in its module and in other modules of the user, without other names there."""
    codes = [function.__code__]
    for code in codes:  # with its comprehensions and lambdas
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    names = {each.argval for code in codes for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    for one in [function.__globals__[name] for name in names if name in function.__globals__]:
        yield one
        if isinstance(one, types.ModuleType) and not is_library(getattr(one, "__file__", None) or ""):
            yield from (vars(one)[name] for code in codes for name in code.co_names if name in vars(one))
    yield from (function.__closure__ or ())
    yield from (function.__defaults__ or ())
    yield from vars(function).values()


def _shared(one):
    """(check, name) of an object that processes must not share; (None, None) for other objects."""
    kind = type(one)
    if isinstance(one, _QUEUES):
        return "connection", "a %s" % kind.__name__
    if kind.__module__.partition(".")[0] in _IN_C:
        return "connection", "a %s of %s" % (kind.__name__, kind.__module__.partition(".")[0])
    if isinstance(one, io.IOBase) or callable(getattr(kind, "fileno", None)):
        try:
            number = one.fileno()
            mode = os.fstat(number).st_mode
        except Exception:  # closed, or in memory alone
            return None, None
        if number <= 2:
            return None, None
        if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
            return "connection", "a %s (a %s)" % (kind.__name__, "socket" if stat.S_ISSOCK(mode) else "pipe")
        if stat.S_ISREG(mode) and isinstance(one, io.IOBase) and one.readable():
            return "file", "an open file (%s)" % os.path.basename(os.readlink("/proc/self/fd/%d" % number))
    return None, None
