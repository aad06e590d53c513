"""The iterator of a training loop during a search. It gives real batches, in any order."""

import contextlib
import gc
import multiprocessing
import os
import sys
import time
import warnings

import torch
from torch.utils.data import IterableDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

from .. import facts, faults, inspect, workers
from ..batch import Contents
from ..facts import length

# Time limits for the loop's wait under a tried setting: seconds, and a multiple of the slowest wait so far.
_LEAST_SECONDS, _FACTOR = 5, 10
# Seconds for a worker that is not forked to import torch, on a CPU of its own.
_IMPORT_SECONDS = 10
# Minimum interval of reports in ns: more would disturb the measurement.
_TELL_NS = 20_000_000
# Batches of a setting until its workers are looked at, and again after twice as many.
_FIRST_LOOK = 20
# Frameworks, by their packages on the stack. Others leave DataLoader's arguments to the script.
_FRAMEWORKS = {"lightning": "lightning", "pytorch_lightning": "lightning", "transformers": "transformers", "timm": "timm"}


class Watched:
    """A loader of the script, over all its epochs and settings."""

    def __init__(self, loader, session, name, iterate):
        self.session = session
        # From go.name_of; None if its construction was not seen.
        self.name = name
        self._iterate = iterate
        # Whether pinbench wants reports about its batches.
        self.is_told = not session.has_target
        self._is_stream = isinstance(loader.dataset, IterableDataset)
        context = loader.multiprocessing_context or multiprocessing
        # allow_none leaves the script free to choose another start method.
        self._start_method = context.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
        self.asked = None
        self.own = facts.setting_of(loader)
        # The current setting, the number of its change, and a loader with this setting.
        self.setting, self.change, self._twin = self.own, 0, None
        # Times batches made without workers.
        self._clock = None
        # Whether pinbench knows that the setting is in force.
        self.is_announced = True
        self.inspection = None
        # Open files and batches at the first batch, and the number of batches after which the next look is due.
        self._files, self._look_after = None, _FIRST_LOOK
        self._spoken = set()
        self.epoch_batches = self._epoch_of(loader)
        self._samples = None if self._is_stream else facts.batch_size(loader)
        self._contents = None
        # Number of batches over all epochs.
        self.delivered = 0
        self.slowest_seconds = 0
        self.number = session.add(self)
        samples = length(loader.dataset)
        session.tell(
            "loader",
            loader=self.number,
            setting=self.own,
            source=type(loader.dataset).__name__ + ("" if samples is None else ", %d samples" % samples),
            name=name,
            startMethod=self._start_method,
            epochBatches=self.epoch_batches,
            framework=_framework(),
        )
        if self.is_told and self.own["numWorkers"] == 0:
            with _starting():
                self.inspection = inspect.Inspection(loader, self._speak, self._start_method)

    def renew(self, loader):
        """The script constructed its loader again, which may have other data."""
        self.end_persistent()
        self._twin = None
        self.epoch_batches = self._epoch_of(loader)
        self.tell("renewed")

    def _epoch_of(self, loader):
        """Batches of an epoch; None if unknown."""
        return None if self._is_stream else length(loader._index_sampler)

    def choose(self, is_target):
        self.is_told = is_target
        if self.inspection is not None:
            self.inspection.chosen() if is_target else self.inspection.end()

    def tell(self, kind, /, **fields):
        if self.is_told:
            self.session.tell(kind, loader=self.number, **fields)

    def _speak(self, check, message):
        if message is not None and check not in self._spoken:
            self._spoken.add(check)
            self.tell("check", check=check, message=message)

    def iterator(self, loader):
        """A torch iterator with the current setting, for an epoch's start or a change."""
        if self._twin is None:
            self._twin = _twin_of(loader, self.setting, self.session.folder)
        with _starting():
            iterator = self._iterate(self._twin)
        self._clock = None
        if self.setting["numWorkers"] == 0:
            self._clock = workers.time_own(iterator)
            if self.inspection is not None:
                draw = iterator._next_index

                def drawing():
                    indices = draw()
                    self.inspection.drawn(indices)
                    return indices

                iterator._next_index = drawing
        return iterator

    def put(self, asked):
        """Applies a change from the next iterator() on; None restores the script's own setting."""
        self.asked = None
        if asked is not None and asked["setting"]["numWorkers"] > 0 and self.inspection is not None:
            self.inspection.judge()
        self.setting, self.change = (self.own, 0) if asked is None else (asked["setting"], asked["change"])
        self.is_announced = asked is None
        self._twin = self._files = None
        self._look_after = _FIRST_LOOK

    def began(self):
        """Called at the first batch of an iterator."""
        self._files = self._files or (facts.open_files(), self.delivered)

    def leave(self, iterator):
        """Called before a change to another setting."""
        self._look(iterator)
        workers.end(iterator, self._grace)
        self.end_persistent()

    def _look(self, iterator):
        """The checks of what workers do."""
        pids = workers.pids_of(iterator)
        if self._is_stream and self.setting != self.own and len(pids) > 1:
            self._speak("stream", inspect.stream(workers.sample_copies(self.session.folder, pids), len(pids)))
        if pids and self._files is not None:
            tensors = max(1, len(self._contents.tensors)) if self._contents is not None else 1
            under_way = tensors * self.setting["numWorkers"] * (self.setting["prefetchFactor"] or 1)
            files, batches = self._files
            kept = facts.open_files() - files
            self._speak("files", inspect.files(kept, self.delivered - batches, under_way, self.epoch_batches))

    def end_persistent(self):
        """Ends persistent workers of the old setting, which would serve the next epoch."""
        iterator = vars(self._twin).get("_iterator") if self._twin is not None else None
        if iterator is not None:
            workers.end(iterator, self._grace)
            vars(self._twin)["_iterator"] = None

    def limit(self, is_first):
        """Time limit in seconds for the next batch of a tried setting; `is_first`: its workers have just started."""
        crowd = max(1, self.setting["numWorkers"] / len(os.sched_getaffinity(0)))
        imports = is_first and self._start_method != "fork"
        return _LEAST_SECONDS + crowd * (_FACTOR * self.slowest_seconds + imports * _IMPORT_SECONDS)

    @property
    def _grace(self):
        return 1 + 2 * self.slowest_seconds

    def fail(self, error, iterator):
        """A tried setting failed: goes back to the script's own."""
        doing = faults.STARTING if iterator is None else faults.LOADING
        failure = faults.describe(error, doing, self.setting, 0, workers.of(iterator))
        # Drops torch's frames, which hold the error and the iterator.
        error.__traceback__ = None
        workers.end(iterator, 0)
        change = self.change
        self.put(None)
        self.tell("failed", change=change, failure=failure)

    def tell_batch(self, batch):
        """Reports the first batch once the second arrives: by then the script has chosen its device."""
        if self.delivered == 1:
            self._contents = Contents(batch)
        elif self.delivered == 2:
            # Any other call would start CUDA in a process that may not want it.
            has_device = torch.cuda.is_available() and torch.cuda.is_initialized()
            device = torch.cuda.get_device_name() if has_device else None
            told = facts.of_batch(self._contents, self._samples, device, "the script has not used a GPU")
            self.tell("batch", facts=told)

    def tell_batches(self, iterator, ns, wait_ns):
        # The search may end with this setting, so that the loop never leaves it.
        if self._files is not None and self.delivered - self._files[1] >= self._look_after:
            self._look_after *= 2
            self._look(iterator)
        pids = workers.pids_of(iterator)
        self.tell(
            "batches",
            change=self.change,
            ns=ns,
            waitNs=wait_ns,
            grad=torch.is_grad_enabled(),
            workers=pids,
            **workers.figures(self.session.folder, pids, self._clock),
        )


class SearchIterator(_BaseDataLoaderIter):
    """One epoch. After a change it continues with a new iterator, until the epoch has as many batches as torch
    announces.
    """

    def __init__(self, loader, watched):
        began_ns = time.perf_counter_ns()
        self._loader, self._watched = loader, watched
        # Number of batches of this epoch, and times not yet reported.
        self._given = 0
        self._ns, self._wait_ns, self._told_ns = [], [], 0
        self._is_mixed = False
        # Whether the inner iterator has given a batch.
        self._has_begun = False
        self._inner = None
        watched.session.obey()
        if self._is_asked():
            watched.end_persistent()
            watched.put(watched.asked)
        self._begin()
        self._tell_epoch("begin", began_ns)

    def __getattr__(self, name):
        # Attributes of torch's iterator, which torch and some frameworks use.
        if name.startswith("__") or "_inner" not in vars(self):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __next__(self):
        began_ns = time.perf_counter_ns()
        watched = self._watched
        watched.session.obey()
        if self._is_asked():
            self._flush()
            watched.leave(self._inner)
            watched.put(watched.asked)
            self._is_mixed = True
            self._begin()
        batch = self._next_batch(began_ns)
        now_ns = time.perf_counter_ns()
        self._given += 1
        watched.delivered += 1
        if watched.is_told:
            self._ns.append(now_ns)
            self._wait_ns.append(now_ns - began_ns)
            watched.tell_batch(batch)
            if now_ns - self._told_ns >= _TELL_NS:
                self._flush()
        return batch

    def _is_asked(self):
        asked = self._watched.asked
        return asked is not None and asked["atBatch"] <= self._watched.delivered

    def _begin(self):
        watched = self._watched
        self._has_begun = False
        try:
            self._inner = watched.iterator(self._loader)
        except Exception as error:
            if watched.setting == watched.own:
                raise
            self._fail(error, None)
        if not watched.is_announced:
            watched.is_announced = True
            watched.tell("changed", change=watched.change, ns=time.perf_counter_ns())

    def _next_batch(self, began_ns):
        watched = self._watched
        while True:
            is_tried = watched.setting != watched.own
            if is_tried and watched.setting["numWorkers"] > 0:
                # torch raises an error after this time.
                self._inner._timeout = watched.limit(not self._has_begun)
            try:
                if self._is_mixed and self._given >= (watched.epoch_batches or float("inf")):
                    raise StopIteration
                batch = next(self._inner)
            except StopIteration:
                if self._is_mixed and self._has_begun and self._given < (watched.epoch_batches or 0):
                    self._begin()
                    continue
                self._flush()
                self._tell_epoch("end", time.perf_counter_ns())
                if self._is_mixed and not watched.setting["persistentWorkers"]:
                    watched.leave(self._inner)
                raise
            except Exception as error:
                if not is_tried:
                    raise
                self._fail(error, self._inner)
                continue
            if not self._has_begun:
                self._has_begun = True
                watched.began()
            watched.slowest_seconds = max(watched.slowest_seconds, (time.perf_counter_ns() - began_ns) / 1e9)
            return batch

    def _fail(self, error, iterator):
        self._flush()
        self._watched.fail(error, iterator)
        self._is_mixed = True
        self._begin()

    def _flush(self):
        if self._ns and self._inner is not None:
            self._told_ns = time.perf_counter_ns()
            self._watched.tell_batches(self._inner, self._ns, self._wait_ns)
            self._ns, self._wait_ns = [], []

    def _tell_epoch(self, event, ns):
        self._watched.tell("epoch", event=event, ns=ns)


def _twin_of(loader, setting, folder):
    """A copy of the script's loader with another setting but the same data set, sampler and collate function."""
    twin = object.__new__(type(loader))
    count = setting["numWorkers"]
    # DataLoader forbids later changes of most of these.
    twin.__dict__.update(
        vars(loader),
        num_workers=count,
        pin_memory=setting["pinMemory"],
        persistent_workers=setting["persistentWorkers"],
        prefetch_factor=setting["prefetchFactor"] if count > 0 else None,
        # Without workers, DataLoader accepts no timeout.
        timeout=loader.timeout if count > 0 else 0,
        worker_init_fn=workers.WorkerStart(loader.worker_init_fn, folder, False),
        _iterator=None,
    )
    return twin


@contextlib.contextmanager
def _starting():
    """A context for starting workers during a training. Freezes garbage, which may hold GPU tensors: a forked worker
    has no CUDA, and aborts if its collector frees them. Hides torch's warnings about settings that the script did not
    choose.
    """
    gc.freeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            gc.unfreeze()


def _framework():
    """The framework whose loop iterates the loader; None if it is the script's own loop."""
    frame = sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package in _FRAMEWORKS:
            return _FRAMEWORKS[package]
        frame = frame.f_back
    return None
