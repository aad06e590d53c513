"""The hook of --go: what the arguments of a loader become."""

import os
import tempfile
import types
import unittest

import support
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, SequentialSampler

from pinbench_tune import go
from pinbench_tune.trial.watch import Watch


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(8))


class OpensInLen(support.Numbers):
    """Its length must not be asked for: workers would share the file that this opens."""

    def __len__(self):
        raise AssertionError("__len__ was called")


class NoSize(BatchSampler):
    """Its batch size must not be asked for yet."""

    @property
    def batch_size(self):
        raise RuntimeError("set_epoch() first")

    @batch_size.setter
    def batch_size(self, size):
        pass


def make(kind, data, *positional, **named):
    return kind(data, *positional, **named)


def train(kind):
    return make(kind, support.Numbers(8), 2)


def validate(kind):
    return make(kind, support.Numbers(8), 2)


class GoTest(unittest.TestCase):
    def changed(self, run, chosen=0, workers=2):
        """The loaders that `run(DataLoader)` returns in a second run, of which the search has chosen this one, and
        whether the hook says that it has found one.
        """
        searched, gone = (type("DataLoader", (DataLoader,), {"__init__": DataLoader.__init__}) for _ in range(2))
        Watch(searched, "/nowhere").take_place()
        with tempfile.TemporaryDirectory() as folder:
            found = os.path.join(folder, "found")
            # One call for both runs, because its line is a part of a loader's name.
            for kind in (searched, gone):
                loaders = run(kind)
                if kind is searched:
                    asked = {"name": vars(loaders[chosen])["_pinbench_name"], "found": found}
                    asked["setting"] = {**support.setting(workers, 3), "pinMemory": True}
                    go.take_place(asked, types.SimpleNamespace(DataLoader=gone))
            return loaders, os.path.exists(found)

    def workers(self, run, chosen=0):
        return [loader.num_workers for loader in self.changed(run, chosen)[0]]

    def test_a_loader_gets_the_arguments_of_an_edit_and_keeps_all_others(self):
        (loader,), is_found = self.changed(lambda kind: [kind(support.Numbers(8), 2, num_workers=1, timeout=9, drop_last=True)])
        self.assertTrue(is_found)
        got = loader.num_workers, loader.prefetch_factor, loader.pin_memory, loader.timeout, loader.drop_last
        self.assertEqual(got, (2, 3, True, 9, True))

    def test_without_workers_it_has_no_argument_that_torch_refuses(self):
        arguments = dict(num_workers=2, timeout=9, prefetch_factor=4, multiprocessing_context="spawn")
        (loader,), _ = self.changed(lambda kind: [kind(support.Numbers(8), 2, **arguments)], workers=0)
        self.assertEqual((loader.num_workers, loader.timeout), (0, 0))

    def test_all_loaders_that_an_edit_of_its_line_would_change_are_changed(self):
        by_function = lambda kind: [train(kind), validate(kind)]
        self.assertEqual([self.workers(by_function, chosen) for chosen in range(2)], [[2, 0], [0, 2]])
        epochs = lambda kind: [make(kind, support.Numbers(8 + epoch), 2) for epoch in range(3)]
        self.assertEqual(self.workers(epochs), [2, 2, 2])
        several = lambda kind: [make(kind, data, size) for data, size in ((support.Numbers(8), 2), (Stream(), 2), (support.Numbers(8), 4))]
        self.assertEqual([self.workers(several, chosen) for chosen in range(3)], [[2, 0, 0], [0, 2, 0], [0, 0, 2]])

    def test_it_is_asked_nothing(self):
        eight = support.Numbers(8)
        for run in (
            lambda kind: [kind(OpensInLen(8), sampler=SequentialSampler(eight))],
            lambda kind: [kind(eight, batch_sampler=NoSize(SequentialSampler(eight), 2, False))],
        ):
            self.assertEqual(self.workers(run), [2])

    def test_one_that_is_not_constructed_again_is_left_alone(self):
        runs = iter([train, validate])
        (loader,), is_found = self.changed(lambda kind: [next(runs)(kind)])
        self.assertEqual((loader.num_workers, is_found), (0, False))

    def test_arguments_that_torch_refuses_are_refused_by_torch(self):
        with self.assertRaises(TypeError):
            self.changed(lambda kind: [kind(support.Numbers(8), number_workers=2)])
