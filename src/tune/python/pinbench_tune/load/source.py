"""A Dataset with the settings of its DataLoader. Its data repeat endlessly, so that no trial reaches an epoch's end."""

import itertools
import os
import time

import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler

from ..facts import length
from ..faults import Refusal
from ..workers import WorkerStart

# Settings taken over from the user's DataLoader, besides those that choose samples.
_TAKEN_OVER = ("collate_fn", "generator", "pin_memory_device", "in_order")
_WITH_WORKERS_ONLY = ("timeout", "multiprocessing_context")
# Interval of calls to `goes_on` while files are dropped: it reports progress and asks whether to continue.
_ALIVE_SECONDS = 1


class Source:
    """`made`: a Dataset or a DataLoader. `folder`: for the workers' records."""

    def __init__(self, made, batch_size, folder):
        self._folder = folder
        self.given = given = made if isinstance(made, DataLoader) else None
        self.dataset = made if given is None else given.dataset
        self.is_iterable = isinstance(self.dataset, IterableDataset)
        self._init_fn = None if given is None else given.worker_init_fn
        taken = {name: getattr(given, name, None) for name in _TAKEN_OVER + _WITH_WORKERS_ONLY}
        taken = {name: value for name, value in taken.items() if value is not None and value != ""}
        self._with_workers = {name: taken.pop(name) for name in _WITH_WORKERS_ONLY if name in taken}
        self._arguments = {**taken, **self._what_makes_a_batch(given, batch_size)}
        self.batch_size = self._arguments.get("batch_size")
        self._looped = EndlessIterable(self.dataset) if self.is_iterable else self.dataset

    def _what_makes_a_batch(self, given, batch_size):
        if given is None:
            if batch_size is None:
                said = "A Dataset alone does not say how large a batch is."
                raise Refusal("usage", said, "Give the training's with --batch-size.")
            given = DataLoader(self.dataset, batch_size=batch_size, shuffle=not self.is_iterable)
        elif given.batch_size is None and batch_size is not None:
            maker = "batch_sampler" if given.batch_sampler is not None else "data set"
            said = "The DataLoader's own %s sets the size of batches." % maker
            raise Refusal("usage", said, "Leave out --batch-size.")
        if given.batch_size is None and given.batch_sampler is not None:
            return {"batch_sampler": EndlessSampler(given.batch_sampler)}
        size = given.batch_size if batch_size is None else batch_size
        samples = None if self.is_iterable else length(given.sampler)
        if size is not None and samples is not None and 0 < samples < size:
            if given.drop_last:
                said = "An epoch has %d samples, which with drop_last make no batch of %d." % (samples, size)
                raise Refusal("usage", said, "Make batches smaller, or leave out drop_last.")
            # With endless data, a larger batch would span several epochs.
            size = samples
        chosen = {"batch_size": size, **({} if size is None else {"drop_last": given.drop_last})}
        if not self.is_iterable:
            chosen["sampler"] = EndlessSampler(given.sampler)
        return chosen

    def loader(self, workers, pin_memory=False, prefetch_factor=None, persistent_workers=False):
        arguments = dict(self._arguments, num_workers=workers, pin_memory=pin_memory)
        if workers > 0:
            arguments.update(self._with_workers, persistent_workers=persistent_workers)
            arguments["worker_init_fn"] = WorkerStart(self._init_fn, self._folder, True)
            if prefetch_factor is not None:
                arguments["prefetch_factor"] = prefetch_factor
        return DataLoader(self._looped, **arguments)

    def epoch_batches(self):
        """Number of batches in an epoch; None if unknown, as for iterable data."""
        if self.is_iterable:
            return None
        samples = length(self.dataset if self.given is None else self.given.sampler)
        if self.batch_size is None or samples is None:
            return length(self.given)
        return samples // self.batch_size if self._arguments.get("drop_last") else -(-samples // self.batch_size)

    def notes(self):
        kind = DataLoader if self.given is None else type(self.given)
        if kind is DataLoader:
            return []
        return ["%s.%s is measured as torch's own DataLoader with its settings." % (kind.__module__, kind.__name__)]


class EndlessSampler:
    """Repeats a sampler (or batch sampler) endlessly.

    Each new DataLoader continues where the last one stopped. If all trials began with the same samples, later trials
    would find them in the page cache.
    """

    def __init__(self, sampler):
        self._sampler = sampler
        self._items = self._endless()

    def __iter__(self):
        return self._items

    def _endless(self):
        for number in itertools.count():
            if hasattr(self._sampler, "set_epoch"):
                self._sampler.set_epoch(number)
            is_empty = True
            for item in self._epoch(number):
                is_empty = False
                yield item
            if is_empty:
                return  # all other epochs would be empty too

    def _epoch(self, number):
        """A plain shuffle gets the same order in each process and search."""
        sampler = self._sampler
        if type(sampler) is not RandomSampler or sampler.generator is not None or sampler.replacement:
            yield from sampler
            return
        order = torch.randperm(len(sampler.data_source), generator=torch.Generator().manual_seed(1 + number))
        # Converted in parts: a list of all indices of a large data set takes a second.
        for start in range(0, len(sampler), 4096):
            yield from order[start : min(start + 4096, len(sampler))].tolist()


class EndlessIterable(IterableDataset):
    """An IterableDataset that restarts when it ends; picklable if the user's is."""

    def __init__(self, dataset):
        # The data set that the user's code sees in a worker.
        self.pinbench_dataset = dataset

    def __iter__(self):
        while True:
            is_empty = True
            for sample in self.pinbench_dataset:
                is_empty = False
                yield sample
            if is_empty:
                return


def drop_files(folder, is_written, goes_on):
    """Drops the files below a folder from the page cache, as before a first epoch. Calls `goes_on()` every second, and
    stops if it returns false. `is_written`: all files are already on storage.
    """
    asked = time.monotonic()
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                # O_NONBLOCK, because opening a pipe would block.
                file = os.open(os.path.join(path, name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                continue  # the data set reports this itself if it reads the file
            try:
                if not is_written:
                    os.fdatasync(file)  # the kernel keeps pages that are not yet on storage
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            except OSError:
                pass  # not a regular file
            finally:
                os.close(file)
            if time.monotonic() - asked > _ALIVE_SECONDS:
                asked = time.monotonic()
                if not goes_on():
                    return
