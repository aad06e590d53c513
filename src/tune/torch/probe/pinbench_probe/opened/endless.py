"""Endless data, so that no trial reaches the end of an epoch."""

import torch
from torch.utils.data import IterableDataset, RandomSampler


class EndlessSampler:
    """Hands out what a sampler (or batch sampler) does, again and again.

    Each DataLoader that gets it continues where the last one stopped: trials that all began with the same samples would
    find them in the page cache, except for the first trial.
    """

    def __init__(self, epochs):
        # Called with an epoch's number; returns its iterator.
        self._epochs = epochs
        self._epoch = 0
        self._rest = None

    def __iter__(self):
        is_fresh = False
        while True:
            if self._rest is None:
                self._rest = iter(self._epochs(self._epoch))
                self._epoch += 1
                is_fresh = True
            try:
                item = next(self._rest)
            except StopIteration:
                self._rest = None
                if is_fresh:
                    return  # an empty epoch, as all others will be
                continue
            except BaseException:
                self._rest = None
                raise
            is_fresh = False
            yield item


def is_plain_shuffle(loader):
    """Whether its sampler does the same as shuffled_epochs(): each sample of the data set once, in random order."""
    sampler, dataset = loader.sampler, loader.dataset
    if type(sampler) is not RandomSampler or sampler.replacement or sampler.data_source is not dataset:
        return False
    if loader.generator is not None or sampler.generator is not None:
        return False
    return sampler.num_samples == len(dataset)


def shuffled_epochs(length):
    def epoch(number):
        # The same order in each process and in each search.
        order = torch.randperm(length, generator=torch.Generator().manual_seed(1 + number))
        # Converted on demand: a list of all indices of a large data set takes a second.
        for start in range(0, length, 4096):
            yield from order[start:start + 4096].tolist()

    return epoch


def repeated_epochs(sampler):
    def epoch(number):
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(number)
        return iter(sampler)

    return epoch


class EndlessIterable(IterableDataset):
    """An IterableDataset that restarts when it ends; picklable if the user's is."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __iter__(self):
        while True:
            is_empty = True
            for sample in self.dataset:
                is_empty = False
                yield sample
            if is_empty:
                return
