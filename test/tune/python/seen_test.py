"""What making a batch is seen to do: to objects that it can reach, to files, and to random numbers."""

import collections
import io
import os
import tempfile
import types
import unittest
from unittest import mock

import support
import torch
from hook_test import Heard
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler

from pinbench_live.judged.aside import draws_in_portions
from pinbench_live.judged.comparison import digest
from pinbench_live.judged.evidence import Evidence
from pinbench_live.judged.verdict import DISCARDED, HANDED, REFUSED
from pinbench_live.probe import probe_module
from pinbench_live.seen import open_files
from pinbench_live.seen.observer import Observer, order_of, path_of
from pinbench_live.seen.reachable import Reachable
from pinbench_live.watched import Watched

worker_records = probe_module("worker_records")

config = types.ModuleType("config")
config.__file__ = "/of-the-script/config.py"
config.size = 1


class Slotted:
    __slots__ = "size"


class Counting:
    size = 1

    def __init__(self):
        self.first = 0
        self.size = 1

    def __getitem__(self, index):
        return index


class Reading:
    def __getitem__(self, index):
        return config.size


def of_a_module():
    return config.size


def of_a_function_in_it():
    return [config.size for _ in range(2)]


def setting(value, name="size"):
    return lambda: setattr(value, name, 2)


class ReachableTest(unittest.TestCase):
    def changed(self, value, change):
        seen = Reachable({"dataset": value})
        self.assertIsNone(seen.changed())
        change()
        return seen.changed()

    def test_a_change_is_told_by_the_name_of_what_has_changed(self):
        slotted, counting = Slotted(), Counting()
        slotted.size = 1
        items, keys = [0] * 2500, {"a": 1, "b": 2}
        queue = collections.deque([0] * 1500)
        closed = 1

        def closure():
            return closed

        def close():
            nonlocal closed
            closed = 2

        for value, change, name in (
            (counting, setting(counting), "dataset.size"),
            (Counting(), setting(Counting), "Counting.size"),
            (slotted, setting(slotted), "dataset"),
            (keys, lambda: keys.update(b=3), "dataset['b']"),
            (items, lambda: items.__setitem__(-1, 1), "dataset"),
            (queue, lambda: queue.__setitem__(-1, 1), "dataset"),
            (closure, close, "closed"),
            (of_a_module, setting(config), "config.size"),
            (of_a_function_in_it, lambda: setattr(config, "size", 3), "config.size"),
            (Reading(), lambda: setattr(config, "size", 4), "config.size"),
        ):
            with self.subTest(name):
                self.assertEqual(self.changed(value, change), name)

    def test_a_change_of_the_data_set_is_none_of_the_order(self):
        dataset = support.Numbers(4)
        for change, name in (
            (setting(dataset, "length"), None),
            (lambda: vars(sampler).update(seed=2), "sampler.seed"),
        ):
            loader = DataLoader(dataset, shuffle=True, batch_size=None)
            sampler = loader.sampler
            sampler.seed = 1
            order = order_of(loader)
            change()
            self.assertEqual(order.changed(), name)


class ObservedTest(unittest.TestCase):
    def fetcher(self, dataset, collate_fn=list):
        return types.SimpleNamespace(dataset=dataset, collate_fn=collate_fn)

    def test_batches_of_another_data_set_within_are_none_of_its_own(self):
        own, other = self.fetcher(Counting()), self.fetcher(Counting())
        observer = Observer(own.dataset)
        for fetcher in (other, own, other):
            observer.before(fetcher)
            fetcher.dataset.size += 1
            observer.after(fetcher)
        self.assertEqual((observer.first_changed, observer.changed), ("dataset.size", None))

    def test_draws_of_any_batch_and_from_a_generator_of_the_data_set_s_own_count(self):
        own = torch.Generator()
        for draw in (lambda: torch.rand(1), lambda: torch.rand(1, generator=own)):
            fetcher = self.fetcher(Counting())
            fetcher.dataset.own = own
            observer = Observer()
            for batch in range(2):
                observer.before(fetcher)
                if batch == 0:
                    draw()
                observer.after(fetcher)
            self.assertIs(observer.is_random, True)

    def test_a_worker_s_record_has_all_that_it_has_seen_of_the_data_set_and_of_what_collates(self):
        kept = []

        def collate(samples):
            return kept

        with tempfile.TemporaryDirectory() as folder:
            path = path_of(folder, 5)
            observer = Observer(path=path)
            observer.before(self.fetcher(Counting(), collate))
            kept.append(1)
            observer.after(self.fetcher(Counting(), collate))
            found = {"is_random": False, "first_changed": "kept", "changed": None, "opened": None}
            self.assertEqual(worker_records.take(path), found)


class OpenedTest(unittest.TestCase):
    def test_a_file_that_a_batch_has_opened_is_told_with_all_later_ones(self):
        with tempfile.NamedTemporaryFile() as named:
            dataset = support.Numbers(4)
            observer = Observer(dataset)
            fetcher = types.SimpleNamespace(dataset=dataset, collate_fn=list)
            found = []
            for batch in range(3):
                observer.before(fetcher)
                if batch == 1:
                    self.addCleanup(open(named.name, "rb").close)
                observer.after(fetcher)
                found.append(observer.opened)
        self.assertEqual(found, [None, named.name, named.name])

    def test_a_file_that_is_read_and_written_has_a_position_that_workers_would_share(self):
        with tempfile.TemporaryFile("w+") as both:
            both.write("one line")
            both.flush()
            self.assertEqual(open_files.positions()[both.fileno()][2], 8)
        ends = os.pipe()
        for end in ends:
            self.addCleanup(os.close, end)
        self.assertFalse(set(ends) & set(open_files.positions()))


class DrawingTest(unittest.TestCase):
    def test_a_sampler_draws_in_portions_from_a_generator_of_its_own_for_more_than_one_order(self):
        own = torch.Generator()
        for expected, arguments in (
            (False, {"generator": own}),
            (False, {"generator": own, "num_samples": 4}),
            (True, {"generator": own, "num_samples": 5}),
            (True, {"generator": own, "replacement": True}),
            (False, {"replacement": True}),
        ):
            sampler = RandomSampler(range(4), **arguments)
            for each in (sampler, BatchSampler(sampler, 2, False)):
                self.assertIs(draws_in_portions(each), expected, arguments)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))


class EvidenceTest(unittest.TestCase):
    """The verdict from what a worker's batches have shown."""

    def evidence(self, dataset, **arguments):
        # It knows the loader only as long as somebody iterates it.
        self.loader = DataLoader(dataset, **arguments)
        return Evidence(self.loader, Watched(self.loader, Heard(), None))

    def verdict(self, evidence, **compared):
        given = {"failure": None, "digests": evidence._digests, "sample_copies": None, **compared}
        evidence._comparison = types.SimpleNamespace(**given, poll=lambda: True)
        evidence.before(False)
        return evidence.verdict

    def test_batches_of_a_stream_are_tried_aside_only_if_its_workers_are_seen_to_share_its_samples(self):
        for expected, size, copies, is_random in (
            (DISCARDED, 2, 1, False),
            (REFUSED, 2, 2, False),
            (REFUSED, 2, None, False),
            (REFUSED, 2, 1, True),
            (REFUSED, None, 1, False),
        ):
            evidence = self.evidence(Stream(), batch_size=size, num_workers=1)
            found = self.verdict(evidence, seen={"is_random": is_random}, sample_copies=copies)
            self.assertEqual(found.workers, expected, (size, copies, is_random))

    def test_a_loader_may_do_without_its_workers_only_if_these_leave_their_process_as_it_was(self):
        nothing = {"is_random": False, "first_changed": None, "changed": None, "opened": None}
        for expected, seen in (
            (True, nothing),
            *((False, {**nothing, name: "a name"}) for name in ("first_changed", "changed", "opened")),
            (False, None),
        ):
            found = self.verdict(self.evidence(support.Numbers(4), num_workers=1), seen=seen)
            self.assertEqual((found.workers, found.without_workers), (HANDED, expected), seen)

    def test_a_sampler_that_draws_for_one_of_the_batches_counts(self):
        for drawing in (1, 2):
            evidence = self.evidence(support.Numbers(6), num_workers=1)
            with mock.patch.object(evidence, "_judge"):
                for batch in range(3):
                    evidence.before(batch == 0)
                    if batch == drawing:
                        torch.rand(1)
                    evidence.after([batch], torch.zeros(1), 0.01)
            self.assertEqual(self.verdict(evidence, seen=None).workers, DISCARDED)

    def test_an_open_file_is_not_shared_with_workers_and_an_iterator_leaves_its_batches_aside(self):
        with tempfile.TemporaryFile() as file:
            for held, way in ((iter([1]), None), (file, REFUSED), (io.BytesIO(), None)):
                dataset = support.Numbers(4)
                dataset.held = held
                evidence = self.evidence(dataset)
                with mock.patch("pinbench_live.judged.evidence.Comparison"):
                    evidence._judge()
                self.assertEqual(evidence.verdict and evidence.verdict.workers, way)


class DigestTest(unittest.TestCase):
    def test_batches_differ_if_their_parts_end_elsewhere(self):
        self.assertNotEqual(digest({"a": b"ab", "b": [b"c", None]}), digest({"a": b"a", "b": [b"bc", None]}))
        self.assertNotEqual(digest({"a": b"ab", "b": b"c"}), digest({"a": b"a", "b": b"bc"}))


if __name__ == "__main__":
    unittest.main()
