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


class GoTest(unittest.TestCase):
    def made(self, construct, kind="Numbers, 8, 2", order=0, is_renewed=False, workers=2):
        """The loaders that construct(DataLoader) returns, and whether the hook says that it has found one."""
        with tempfile.TemporaryDirectory() as folder:
            found = os.path.join(folder, "found")
            asked = {"kind": kind, "order": order, "isRenewed": is_renewed, "found": found}
            asked["setting"] = {**support.setting(workers, 3), "pinMemory": True}
            # A class of its own: the hook changes it for good.
            hooked = type("DataLoader", (DataLoader,), {"__init__": DataLoader.__init__})
            go.take_place(asked, types.SimpleNamespace(DataLoader=hooked))
            return construct(hooked), os.path.exists(found)

    def workers(self, construct, **how):
        return [loader.num_workers for loader in self.made(construct, **how)[0]]

    def test_a_loader_gets_the_arguments_of_an_edit_and_keeps_all_others(self):
        (loader,), is_found = self.made(lambda kind: [kind(support.Numbers(8), 2, num_workers=1, timeout=9, drop_last=True)])
        self.assertTrue(is_found)
        got = loader.num_workers, loader.prefetch_factor, loader.pin_memory, loader.timeout, loader.drop_last
        self.assertEqual(got, (2, 3, True, 9, True))

    def test_without_workers_it_has_no_argument_that_torch_refuses(self):
        arguments = dict(num_workers=2, timeout=9, prefetch_factor=4, multiprocessing_context="spawn")
        (loader,), _ = self.made(lambda kind: [kind(support.Numbers(8), 2, **arguments)], workers=0)
        self.assertEqual((loader.num_workers, loader.timeout), (0, 0))

    def test_it_is_known_by_class_and_length_of_its_data_batch_size_and_order(self):
        eight, nine = support.Numbers(8), support.Numbers(9)

        def construct(kind):
            return [kind(nine, 2), kind(eight, 2), kind(eight, 4), kind(eight, 2), kind(eight, 2)]

        self.assertEqual(self.workers(construct), [0, 2, 0, 0, 0])
        self.assertEqual(self.workers(construct, order=1), [0, 0, 0, 2, 0])
        self.assertEqual(self.workers(construct, order=1, is_renewed=True), [0, 0, 0, 2, 2])

    def test_a_batch_sampler_has_the_batch_size_and_a_stream_no_length(self):
        eight = support.Numbers(8)
        sampled = lambda kind: [kind(eight, batch_sampler=BatchSampler(SequentialSampler(eight), 2, False))]
        self.assertEqual(self.workers(sampled), [2])
        self.assertEqual(self.workers(lambda kind: [kind(Stream())], kind="Stream, None, 1"), [2])

    def test_one_that_is_not_found_is_left_alone(self):
        loaders, is_found = self.made(lambda kind: [kind(support.Numbers(8), 2)], kind="Others, 8, 2")
        self.assertEqual((loaders[0].num_workers, is_found), (0, False))

    def test_the_search_counts_a_loader_that_torch_refuses_as_go_does(self):
        def construct(kind):
            with self.assertRaises(ValueError):
                kind(support.Numbers(8), 2, drop_last=True, timeout=-1)
            return [kind(support.Numbers(8), 2)]

        searched = type("DataLoader", (DataLoader,), {"__init__": DataLoader.__init__})
        Watch(searched, "/nowhere").take_place()
        kind, order = vars(construct(searched)[0])["_pinbench_name"]
        self.assertEqual((self.workers(construct), self.workers(construct, kind=kind, order=order)), ([0], [2]))

    def test_arguments_that_torch_refuses_are_refused_by_torch(self):
        with self.assertRaises(TypeError):
            self.made(lambda kind: [kind(support.Numbers(8), number_workers=2)])
