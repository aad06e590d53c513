"""Every kind of DataLoader that torch allows: trials get the batches that the training gets, epoch after epoch."""

import itertools
import tempfile
import unittest
import warnings

import support
import torch
from torch.utils.data import DataLoader, IterableDataset

from pinbench_probe.facts import first_batch
from pinbench_probe.opened.source import Source

SAMPLES = 7
ORDERS = {
    "in order": {},
    "shuffled": {"shuffle": True},
    "sampler": {"sampler": [4, 2, 0, 6, 1]},
    "batch sampler": {"batch_sampler": [[4, 2], [1, 5, 3]]},
}


class Pairs(support.Numbers):
    def __getitem__(self, index):
        return torch.tensor([index, 10 * index]), index


class Stream(IterableDataset):
    def __iter__(self):
        return map(Pairs(SAMPLES).__getitem__, range(SAMPLES))


def negative(batch_or_sample):
    return [-number for number in numbers(batch_or_sample)]


def negative_sample(sample):
    """It fails for a list of samples."""
    picture, label = sample
    return -picture, -label


def numbers(value):
    """All numbers of a batch, in order."""
    if isinstance(value, torch.Tensor):
        return value.flatten().tolist()
    return [value] if isinstance(value, int) else [number for item in value for number in numbers(item)]


def loaders():
    """(what it is, the DataLoader) for each combination of arguments that torch accepts."""
    kinds = itertools.product((Pairs(SAMPLES), Stream()), (None, 1, 3), ORDERS, (False, True), (None, negative))
    for data, size, order, drop_last, collate in kinds:
        given = {"batch_size": size, "drop_last": drop_last, **ORDERS[order]}
        if order == "batch sampler":
            del given["batch_size"], given["drop_last"]
            if (size, drop_last) != (1, False):
                continue  # the same loader again
        try:
            loader = DataLoader(data, collate_fn=collate, **given)
        except ValueError:
            continue  # torch has no such loader
        yield (type(data).__name__, size, order, drop_last, collate), loader


class LoaderKindsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = folder.name
        silenced = warnings.catch_warnings()
        silenced.__enter__()
        self.addCleanup(silenced.__exit__, None, None, None)
        warnings.simplefilter("ignore")  # there is no GPU to pin memory for

    def source(self, loader, batch_size=None, collate=None):
        return Source(loader, batch_size, collate, False, 5, self.scratch)

    def made(self, loader, count):
        iterator = iter(loader)
        return [numbers(batch) for batch in itertools.islice(iterator, count)]

    def test_trials_have_the_training_s_batches_with_workers_and_without(self):
        seen = 0
        for kind, loader in loaders():
            with self.subTest(kind=kind):
                source = self.source(loader)
                is_map = kind[0] == "Pairs"
                self.assertEqual(source.epoch_batches(), len(loader) if is_map else None)
                epoch = self.made(loader, None)
                # The end of one epoch and the start of the next may share a batch.
                whole = [batch for batch in epoch if len(batch) == len(epoch[0])]
                _, contents = first_batch(source)
                self.assertEqual(bool(contents.tensors), kind[4] is None)
                # Each worker of a stream would give all samples.
                settings = [(0, False, None, False), (2 if is_map else 1, True, 3, True)]
                for setting in settings if kind[1] != 1 or kind[2] == "batch sampler" else settings[:1]:
                    found = self.made(self.source(loader).loader(*setting), len(whole))
                    if kind[2] == "shuffled":
                        self.assertEqual([len(batch) for batch in found], [len(batch) for batch in whole])
                        self.assertEqual(len(set(map(tuple, found))), len(found))
                    else:
                        self.assertEqual(found, whole)
                seen += 1
        self.assertEqual(seen, 42)

    def test_a_loader_without_batches_gets_those_of_the_size_that_was_asked_for(self):
        plain = [[0, 0, 1, 10, 2, 20, 0, 1, 2], [3, 30, 4, 40, 5, 50, 3, 4, 5]]
        for data in (Pairs(SAMPLES), Stream()):
            for collate, sign in ((None, 1), (negative_sample, -1)):
                for workers in (0, 1):
                    given = DataLoader(data, batch_size=None, collate_fn=collate)
                    found = self.made(self.source(given, 3).loader(workers), 2)
                    self.assertEqual(found, [[sign * number for number in batch] for batch in plain])
            given = DataLoader(data, batch_size=None, collate_fn=negative_sample)
            self.assertIs(self.source(given, 3, list).loader(0).collate_fn, list)


if __name__ == "__main__":
    unittest.main()
