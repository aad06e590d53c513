"""The iterator that the training loop gets during a search: real batches of its data set, in whatever order."""

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
from ..go import length

# A tried setting may keep the loop waiting for this long, and for this many times the job's slowest wait so far.
_LEAST_SECONDS, _FACTOR = 5, 10
# For the import of torch in a worker that is not forked, on a CPU of its own.
_IMPORT_SECONDS = 10
# More frequent reports would affect the measurement.
_TELL_NS = 20_000_000
# Found by the packages on the stack. Other frameworks leave DataLoader's arguments to the script.
_FRAMEWORKS = {"lightning": "lightning", "pytorch_lightning": "lightning", "transformers": "transformers", "timm": "timm"}


class Watched:
    """One loader of the script, over all its epochs and settings."""

    def __init__(self, loader, session, kind, order, iterate):
        self.session = session
        # As go.Census names it; None if its construction was not seen.
        self.kind = kind
        self._iterate = iterate
        # Whether pinbench wants reports on its batches.
        self.is_told = not session.has_target
        self._is_stream = isinstance(loader.dataset, IterableDataset)
        context = loader.multiprocessing_context or multiprocessing
        # The question leaves the script free to choose another way.
        self._start_method = context.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
        # The requested change that has not been made yet.
        self.asked = None
        self.own = facts.setting_of(loader)
        # The setting in force, the number of its change, and the loader that has it.
        self.setting, self.change, self._twin = self.own, 0, None
        # Without workers, the time of making batches.
        self._clock = None
        # Whether pinbench knows that it is in force.
        self.is_announced = True
        self.inspection = None
        # Open files and batches when it began.
        self._files = None
        self.epoch_batches = None if self._is_stream else length(loader._index_sampler)
        self._samples = None if self._is_stream else facts.batch_size(loader)
        self._contents = None
        # Batches of the loop, over all epochs.
        self.delivered = 0
        # The loop's longest wait for a batch.
        self.slowest_seconds = 0
        self.number = session.add(self)
        samples = length(loader.dataset)
        session.tell(
            "loader",
            loader=self.number,
            setting=self.own,
            source=type(loader.dataset).__name__ + ("" if samples is None else ", %d samples" % samples),
            kind=kind,
            order=order,
            startMethod=self._start_method,
            epochBatches=self.epoch_batches,
            framework=_framework(),
        )
        if self.is_told and self.own["numWorkers"] == 0:
            with _starting():
                self.inspection = inspect.Inspection(loader, self._speak)

    def renew(self):
        """The script has made its loader anew."""
        self.end_persistent()
        self._twin = None
        self.tell("renewed")

    def choose(self, is_target):
        self.is_told = is_target
        if self.inspection is not None:
            self.inspection.chosen() if is_target else self.inspection.end()

    def tell(self, kind, /, **fields):
        if self.is_told:
            self.session.tell(kind, loader=self.number, **fields)

    def _speak(self, check, message):
        if message is not None:
            self.tell("check", check=check, message=message)

    def iterator(self, loader):
        """A torch iterator of the setting in force, at an epoch's start or after a change."""
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
        """From the next iterator() on; None for the script's own setting."""
        self.asked = None
        if asked is not None and asked["setting"]["numWorkers"] > 0 and self.inspection is not None:
            self.inspection.judge()
        self.setting, self.change = (self.own, 0) if asked is None else (asked["setting"], asked["change"])
        self.is_announced = asked is None
        self._twin = self._files = None

    def began(self):
        """The first batch of an iterator has come."""
        self._files = self._files or (facts.open_files(), self.delivered)

    def leave(self, iterator):
        """Before another setting takes over."""
        pids = workers.pids_of(iterator)
        if self._is_stream and self.setting != self.own and len(pids) > 1:
            self._speak("stream", inspect.stream(workers.sample_copies(self.session.folder, pids), len(pids)))
        if pids and self._files is not None:
            tensors = max(1, len(self._contents.tensors)) if self._contents is not None else 1
            under_way = tensors * self.setting["numWorkers"] * (self.setting["prefetchFactor"] or 1)
            files, batches = self._files
            self._speak("files", inspect.files(facts.open_files() - files, self.delivered - batches, under_way))
        workers.end(iterator, self._grace)
        self.end_persistent()

    def end_persistent(self):
        """Ends workers that would begin the next epoch, before another setting does."""
        iterator = vars(self._twin).get("_iterator") if self._twin is not None else None
        if iterator is not None:
            workers.end(iterator, self._grace)
            vars(self._twin)["_iterator"] = None

    def limit(self, is_first):
        """Seconds until the next batch of a tried setting; `is_first` after its workers have started."""
        crowd = max(1, self.setting["numWorkers"] / len(os.sched_getaffinity(0)))
        imports = is_first and self._start_method != "fork"
        return _LEAST_SECONDS + crowd * (_FACTOR * self.slowest_seconds + imports * _IMPORT_SECONDS)

    @property
    def _grace(self):
        """Seconds for a worker to end by itself."""
        return 1 + 2 * self.slowest_seconds

    def fail(self, error, iterator):
        """The tried setting is over: the script's own goes on."""
        doing = faults.STARTING if iterator is None else faults.LOADING
        failure = faults.describe(error, doing, self.setting, 0, workers.of(iterator))
        # torch's frames hold the error and the iterator.
        error.__traceback__ = None
        workers.end(iterator, 0)
        change = self.change
        self.put(None)
        self.tell("failed", change=change, failure=failure)

    def tell_batch(self, batch):
        """Facts on the first batch, with its device at the second one: by then the script has chosen that."""
        if self.delivered == 1:
            self._contents = Contents(batch)
        elif self.delivered == 2:
            # Any further question would start CUDA in a process that may not want it.
            has_device = torch.cuda.is_available() and torch.cuda.is_initialized()
            device = torch.cuda.get_device_name() if has_device else None
            told = facts.of_batch(self._contents, self._samples, device, "the script has not used a GPU")
            self.tell("batch", facts=told)

    def tell_batches(self, iterator, ns, wait_ns):
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
    """One epoch. At a change it goes on with a new iterator of the tried setting. After one, the epoch ends when it has
    had as many batches as torch announces.
    """

    def __init__(self, loader, watched):
        began_ns = time.perf_counter_ns()
        self._loader, self._watched = loader, watched
        # Batches of this epoch, and times that are not told yet.
        self._given = 0
        self._ns, self._wait_ns, self._told_ns = [], [], 0
        self._is_mixed = False
        # Whether the inner iterator has brought a batch.
        self._has_begun = False
        self._inner = None
        watched.session.obey()
        if self._is_asked():
            watched.end_persistent()
            watched.put(watched.asked)
        self._begin()
        self._tell_epoch("begin", began_ns)

    def __getattr__(self, name):
        # Of torch's iterator, which its own methods and some frameworks use.
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
                # torch raises its own error after that time.
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
    """A copy of the script's loader with other arguments: the same data set, sampler and collate function."""
    twin = object.__new__(type(loader))
    count = setting["numWorkers"]
    # DataLoader forbids setting most of these after its creation.
    twin.__dict__.update(
        vars(loader),
        num_workers=count,
        pin_memory=setting["pinMemory"],
        persistent_workers=setting["persistentWorkers"],
        prefetch_factor=setting["prefetchFactor"] if count > 0 else None,
        # Without workers DataLoader accepts none.
        timeout=loader.timeout if count > 0 else 0,
        worker_init_fn=workers.WorkerStart(loader.worker_init_fn, folder, False),
        _iterator=None,
    )
    return twin


@contextlib.contextmanager
def _starting():
    """Workers start within it, in the middle of a training. Garbage may hold tensors of a GPU: a forked worker whose
    collector frees them aborts, because it has no CUDA. And torch warns of settings that the script has not asked for.
    """
    gc.freeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            gc.unfreeze()


def _framework():
    """The framework whose loop begins to iterate a loader; None for the script's own."""
    frame = sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package in _FRAMEWORKS:
            return _FRAMEWORKS[package]
        frame = frame.f_back
    return None
