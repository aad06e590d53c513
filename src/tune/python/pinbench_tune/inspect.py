"""Checks of a training's data set and loop that advice on workers has to heed: each a function with one sentence.

Two more are of trials, in src/tune/search/recommend.ts: objects that do not pickle, and memory that grows with workers.
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

# CPU time of one walk through the data set's objects, and time for making samples that are compared.
_WALK_SECONDS = 1
_MAKING_SECONDS = 0.5
_LEAST_COMPARED, _MOST_COMPARED = 2, 8
# Each sample that is kept comes in less than half of its first time, and saves more than a batch takes to be sent.
_KEPT_SHARE, _KEPT_SECONDS = 0.5, 0.0005
# A loop that keeps its batches does so with nearly all of them; fewer show nothing.
_KEPT_BATCHES, _LEAST_BATCHES = 0.5, 20

# A proxy of multiprocessing.Manager connects anew in each process.
_PLAIN = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, torch.Tensor, types.ModuleType),
    multiprocessing.managers.BaseProxy,
)
_QUEUES = (queue.Queue, queue.SimpleQueue, multiprocessing.queues.Queue, multiprocessing.queues.SimpleQueue)
# Packages whose objects keep their connection or file in C.
_IN_C = ("sqlite3", "h5py", "psycopg2")


def stream(copies, workers):
    """`copies`: number of workers that delivered each sample, None if unknown."""
    if copies is None or copies <= 1:
        return None
    return (
        "The IterableDataset does not share its samples out between workers: each of %d workers delivers all of them. "
        "Have __iter__ take its part by torch.utils.data.get_worker_info()." % workers
    )


def held(*roots):
    """("connection" or "file", sentence) for what the user's objects hold that processes must not share."""
    for one in _reachable(roots, time.thread_time() + _WALK_SECONDS):
        check, name = _shared(one)
        if check is not None:
            what = "mix up its answers" if check == "connection" else "read each other's parts, as they share its position"
            return check, (
                "The data set holds %s when workers start: they would %s. "
                "Open it in __getitem__, or in worker_init_fn, once in each worker." % (name, what)
            )
    return None


def different(here, there):
    """Of fingerprints of the same samples, each made twice: in this process, and in a worker that started before."""
    if here[0] != here[1] or there[0] != there[1] or here[0] == there[0]:
        return None
    return (
        "Workers make other samples than the training process: they have a copy of the data set from when they "
        "started, and do not see what the loop changes in it. Have the loop keep such state outside of the data set."
    )


def keeps(first_seconds, again_seconds):
    """Of the times in which a worker makes samples, and makes them again: files are in memory by then in any case."""
    pairs = list(zip(first_seconds, again_seconds))
    if not all(again <= _KEPT_SHARE * first and first - again >= _KEPT_SECONDS for first, again in pairs):
        return None
    return (
        "The data set keeps the samples that it has read. Workers keep them in copies of their own, which end with each "
        "epoch. Keep them in shared memory or in files, or stay with the script's number of workers."
    )


def files(kept, batches, under_way):
    """`kept`: open files more than `batches` before, of which batches that are `under_way` may hold some."""
    if batches < _LEAST_BATCHES or kept < _KEPT_BATCHES * batches or kept <= under_way:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    each = max(1, round(kept / batches))
    return (
        "The loop keeps its batches, and each batch from a worker holds %d open files: the limit of %d is reached after "
        "about %d batches. Call torch.multiprocessing.set_sharing_strategy('file_system'), or keep copies (.clone())."
        % (each, limit, max(0, limit - open_files() + kept) // each)
    )


class Inspection:
    """Of one loader without workers of its own, which would show by themselves what they do. Begins before its first
    batch. `speak(check, message)` is called when a check speaks.
    """

    def __init__(self, loader, speak):
        self._dataset = loader.dataset
        self._speak = speak
        # The indices of samples that were made in this process lately.
        self._drawn = collections.deque(maxlen=_MOST_COMPARED)
        self._held = held(loader.dataset, loader.collate_fn)
        is_stream = isinstance(loader.dataset, torch.utils.data.IterableDataset)
        self._worker = None if is_stream or self._held is not None else EarlyWorker(loader)

    def drawn(self, indices):
        """A batch is made in this process; None for a stream."""
        if indices is not None:
            self._drawn.extend(indices if isinstance(indices, list) else [indices])

    def chosen(self):
        """The loader will be tuned: what is shared must not even be tried."""
        if self._held is not None:
            self._speak(*self._held)

    def end(self):
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def judge(self):
        """Before the first setting with workers."""
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
    """A worker from before the loop's first batch: what it does not know, workers of the loop will not know either."""

    def __init__(self, loader):
        context = loader.multiprocessing_context or torch.multiprocessing
        self._dataset = loader.dataset
        self._connection, other = context.Pipe()
        arguments = other, loader.dataset, loader.worker_init_fn
        self._process = context.Process(target=_answer, args=arguments, daemon=True)
        try:
            self._process.start()
        except Exception:  # it does not pickle, say: a trial with workers shows that
            self._process = None
        other.close()

    def compare(self, indices):
        """(fingerprints here, and there, seconds there of making each sample, and again); None if that fails."""
        if self._process is None or len(indices) < _LEAST_COMPARED:
            return None
        try:
            here, _ = _made(self._dataset, indices)
            indices = indices[: len(here)]
            here = here, _made(self._dataset, indices)[0]
            # What comes first there also opens files and imports.
            self._connection.send((indices[:1], indices[1:]))
            if not self._connection.poll(10 * _MAKING_SECONDS):
                return None
            there, (first, again) = self._connection.recv()
            return [each[1 : 1 + len(again)] for each in here], there, first, again
        except Exception:  # of the data set: a trial shows it
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
        pass  # of the data set: a trial shows it


def _made(dataset, indices):
    """(fingerprints of samples, the seconds of making each), with all generators in the same state, as long as there is
    time.
    """
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
    """All objects of the user's from these on, nearest first; no more after `until`, in CPU time of this thread."""
    waiting, seen = collections.deque(roots), {}
    while waiting and time.thread_time() < until:
        one = waiting.popleft()
        if id(one) in seen or issubclass(type(one), (*_PLAIN, weakref.ProxyType, weakref.CallableProxyType)):
            continue
        # Kept, so that no object made for the walk gets its id.
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
    """What it refers to; its module's other names are not its own."""
    names = {each.argval for each in dis.get_instructions(function) if each.opname == "LOAD_GLOBAL"}
    yield from (function.__globals__[name] for name in names if name in function.__globals__)
    yield from (function.__closure__ or ())
    yield from (function.__defaults__ or ())
    yield from vars(function).values()


def _shared(one):
    """(check, name) of something that processes must not share; (None, None) for anything else."""
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
