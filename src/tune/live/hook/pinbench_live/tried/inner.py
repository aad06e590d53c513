"""A loader like the user's own with another setting, which makes the batches for the iterator that the loop sees."""

import contextlib
import gc
import itertools
import multiprocessing
import os
import warnings

import torch

from ..probe import probe_module
from .feed import Gate
from .handles import Handles
from .tried_worker import TriedWorker

generators = probe_module("generators")

# Most objects that Python itself freezes: 3.12 begins with some hundreds. A script that freezes objects also freezes
# torch's hundred thousands.
_FROZEN_BY_PYTHON = 10_000


class Inner:
    """Workers under one setting: `start` for each epoch, then `open`; `close` and `end` when another takes over."""

    def __init__(self, loader, setting, change, folder=None, is_own=None, is_observed=False, attributes=None):
        """`folder`: for reports of tried workers. `is_own`: whether the setting equals the script's, whichever change
        brought it. `attributes`: the loader's when its epoch began.
        """
        self.setting = setting
        # The number of the change that brought this setting; 0 for the script's own.
        self.change = change
        self.is_own = change == 0 if is_own is None else is_own
        # Whether its batches are discarded.
        self.is_discarded = False
        # Reachable objects when workers were added to a loader without any.
        self.state = None
        # A weak reference to its iterator.
        self.user = None
        # Whether it has made a batch since its workers were started.
        self.has_begun = False
        self.folder = folder
        self._is_observed = is_observed
        self.iterator = self._handles = None
        self._is_stream = is_stream(loader)
        self._is_forked = forks(loader)
        self.gate = Gate(loader._index_sampler)
        self.attributes = attributes or dict(vars(loader))
        self._loader = self._like(loader, self.attributes)

    def begin(self, feed):
        """An epoch of the script's own setting: torch does the same at the same times as without pinbench."""
        self.gate.follow(feed)
        if self.iterator is None:
            self.iterator = self._loader._get_iterator()
        else:
            self.iterator._reset(self._loader)

    def start(self, feed):
        """Starts the workers, or wakes persistent ones; draws nothing yet."""
        self.gate.connect(feed)
        with _no_warnings(), _no_garbage_for_children(), self._own_place():
            if self.iterator is not None:
                self.iterator._reset(self._loader)
            else:
                self.iterator = self._loader._get_iterator()
                if not self.is_own and self.setting["numWorkers"] > 0:
                    self._handles = Handles(self.iterator)

    @contextlib.contextmanager
    def _own_place(self):
        """Puts the sockets for tensors into a folder that is cleaned up even if a worker is killed."""
        config = multiprocessing.current_process()._config
        before = config.get("tempdir")
        # A fork server would keep its own socket there permanently.
        if self.is_own or not self._is_forked or self.folder is None or not os.path.isdir(self.folder):
            yield
            return
        config["tempdir"] = self.folder
        try:
            yield
        finally:
            config["tempdir"] = before
            if before is None:
                del config["tempdir"]

    def open(self):
        """Lets the workers begin with the next batches."""
        self.gate.is_open = True
        if not self._is_stream and self.setting["numWorkers"] > 0:
            for _ in range(self.setting["numWorkers"] * self._loader.prefetch_factor):
                self.iterator._try_put_index()

    def next_within(self, seconds):
        """The next batch; raises torch's timeout error if none comes. Batches made in this process have no timeout."""
        if seconds is not None and self.setting["numWorkers"] > 0:
            own = self._loader.timeout
            self.iterator._timeout = min(own, seconds) if own > 0 else seconds
        batch = next(self.iterator)
        self.has_begun = True
        return batch

    def close(self):
        """Stops drawing; it still delivers what it has drawn."""
        self.gate.is_open = False

    def end(self):
        """Ends its workers; batches that they have not delivered are lost."""
        iterator, self.iterator = self.iterator, None
        self.has_begun = False
        handles, self._handles = self._handles, None
        if handles is not None and handles.are_lost():
            handles.abandon()
        elif hasattr(iterator, "_shutdown_workers"):
            iterator._shutdown_workers()
            if handles is not None:
                handles.close()

    def has_lost_files(self):
        """Whether the script has closed the descriptors of its workers."""
        return self._handles is not None and self._handles.seem_lost()

    def workers(self):
        return list(getattr(self.iterator, "_workers", ()))

    def worker_pids(self):
        return [worker.pid for worker in self.workers()]

    def makers(self):
        """The processes in which its batches are made."""
        return self.worker_pids() or [os.getpid()]

    def _like(self, loader, attributes):
        """A copy of the loader that differs only in the tuned arguments and in the source of its indices."""
        kind = type(loader)
        if hasattr(kind, "__del__"):
            # A finalizer of the script's loader must not run for its copy.
            kind = type(kind.__name__, (kind,), {"__del__": lambda self: None})
        twin = object.__new__(kind)
        twin.__dict__.update(attributes)
        workers = self.setting["numWorkers"]
        changes = {
            "num_workers": workers,
            "pin_memory": self.setting["pinMemory"],
            "persistent_workers": self.setting["persistentWorkers"],
            "prefetch_factor": self.setting["prefetchFactor"] if workers > 0 else None,
            # Without workers DataLoader accepts none of these.
            "timeout": attributes["timeout"] if workers > 0 else 0,
            "_iterator": None,
        }
        if not self.is_own:
            changes["generator"] = _own_generator()
        if not self.is_own and workers > 0:
            changes["worker_init_fn"] = TriedWorker(attributes["worker_init_fn"], self.folder, self._is_observed)
        if not self._is_stream:
            changes["batch_sampler" if loader.batch_sampler is not None else "sampler"] = self.gate
        # DataLoader forbids setting most of these after its creation.
        twin.__dict__.update(changes)
        return twin


@contextlib.contextmanager
def _no_warnings():
    """Silences torch's warnings on a setting that the script has not asked for. Python's own catch_warnings() would
    make the script's warnings appear again.
    """
    ignored = ("ignore", None, Warning, None, 0)
    warnings.filters.insert(0, ignored)
    try:
        yield
    finally:
        if ignored in warnings.filters:
            warnings.filters.remove(ignored)


@contextlib.contextmanager
def _no_garbage_for_children():
    """Garbage during a training may hold tensors of a GPU: a forked worker whose collector frees them aborts, because
    it has no CUDA. Objects frozen here stay frozen in the workers, which never return from their start.
    """
    if gc.get_freeze_count() > _FROZEN_BY_PYTHON:
        # The script has frozen objects itself, and all of them would be unfrozen.
        gc.collect()
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def is_stream(loader):
    """Whether the data set itself decides what comes next, so that two loaders cannot share an epoch."""
    from torch.utils.data import IterableDataset

    return isinstance(loader.dataset, IterableDataset)


def forks(loader):
    """Whether its workers are forked; the question leaves the script free to choose another way."""
    context = loader.multiprocessing_context or multiprocessing
    return (context.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]) == "fork"


def own_setting(loader):
    """The script's own arguments as plain numbers for JSON: a script's may be NumPy's."""
    workers = int(loader.num_workers)
    return {
        "numWorkers": workers,
        "pinMemory": bool(loader.pin_memory),
        "prefetchFactor": int(loader.prefetch_factor) if workers > 0 else None,
        "persistentWorkers": bool(loader.persistent_workers) and workers > 0,
    }


def unchanged_randomness(loader, *further):
    """Keeps draws within it from affecting the loop's, the loader's and `further` generators."""
    own = getattr(loader, "generator", None)
    return generators.kept(*() if own is None else (own,), *further)


_generators = itertools.count(1)


def _own_generator():
    """A generator from which torch draws the worker seed of a tried setting: none of the script's threads draws from
    it. Each has its own, the same one in a run with the same seed.
    """
    return torch.Generator().manual_seed((torch.initial_seed() + next(_generators)) % (1 << 63))


def draw_seed(loader):
    """Draws what an iterator of the script's own loader would have drawn for its workers."""
    torch.empty((), dtype=torch.int64).random_(generator=loader.generator)
