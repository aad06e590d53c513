"""The hook in a training script: its limits, what it reports, and what it leaves as it was."""

import itertools
import multiprocessing
import os
import tempfile
import types
import unittest
from unittest import mock

import support
import torch
from hook_test import Heard, setting
from torch.utils.data import DataLoader

from pinbench_live import comparison, deaths, facts, session
from pinbench_live.aside import Aside, step_seconds
from pinbench_live.feed import Feed
from pinbench_live.inner import Inner
from pinbench_live.live_iterator import LiveIterator
from pinbench_live.observer import Observer
from pinbench_live.patience import Patience
from pinbench_live.probe import probe_module
from pinbench_live.watched import Watched

sharding = probe_module("sharding")


class PatienceTest(unittest.TestCase):
    def test_a_limit_is_that_of_the_slowest_batch_and_for_the_first_one_of_the_slowest_start(self):
        patience = Patience()
        patience._cpus = 2
        for seconds in (2, 1):
            patience.made(seconds)
            patience.started(seconds + 1)
        self.assertEqual([patience.seconds(workers, False) for workers in (0, 2, 4)], [25, 25, 45])
        self.assertEqual([patience.seconds(workers, True) for workers in (0, 2, 4)], [40, 40, 75])
        self.assertEqual(patience.grace(), 7)


class AsideTest(unittest.TestCase):
    def test_a_step_is_the_mean_of_those_of_at_most_ten_medians(self):
        self.assertEqual(step_seconds([]), 0)
        self.assertEqual(step_seconds([1, 1, 1, 10]), 3.25)
        self.assertEqual(step_seconds([1, 1, 1, 10.1]), 1)

    def test_batches_of_a_sampler_of_the_script_s_own_are_those_seen_again_and_again(self):
        loader = DataLoader(support.Numbers(4), batch_sampler=[[0], [1], [2], [3]])
        lists = Aside(loader, None, None)._lists([[2], [3]])
        self.assertEqual(list(itertools.islice(lists, 5)), [[2], [3], [2], [3], [2]])
        self.assertEqual(list(Aside(loader, None, None)._lists([])), [])


class FactsTest(unittest.TestCase):
    def test_a_process_has_a_rank_of_the_job_and_one_of_its_node(self):
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
        fields = ("rank", "worldSize", "localRank", "localWorldSize")

        def rank_of(*values):
            known = {name: value for name, value in zip(names, values) if value is not None}
            others = {name: value for name, value in os.environ.items() if name not in names}
            with mock.patch.dict(os.environ, {**others, **known}, clear=True):
                found = session._rank()
            return tuple(found[field] for field in fields)

        self.assertEqual(rank_of("5", "8", "1", "4"), (5, 8, 1, 4))
        self.assertEqual(rank_of("5", "8"), (5, 8, 5, 8))
        self.assertEqual(rank_of("-1", "-1", "-1", "-1"), (0, 1, 0, 1))
        initialized = {"is_available": lambda: True, "is_initialized": lambda: True}
        torchs = {**initialized, "get_rank": lambda: 6, "get_world_size": lambda: 16}
        with mock.patch.multiple(torch.distributed, create=True, **torchs):
            self.assertEqual(rank_of("5", "8", "2", "4"), (6, 16, 2, 4))

    def test_a_batch_has_a_number_of_tensors_and_the_process_a_limit_of_files_or_none(self):
        contents = facts.contents({"image": torch.zeros(2, 3), "label": torch.zeros(2)})
        for soft, limit in ((1024, 1024), (facts.resource.RLIM_INFINITY, None)):
            with mock.patch.object(facts.resource, "getrlimit", lambda _: (soft, soft)):
                told = facts.batch(contents, [0, 1])
            self.assertEqual((told["tensors"], told["samples"], told["bytes"]), (2, 2, 32))
            self.assertEqual(told["fileLimit"], limit)


class ObserverTest(unittest.TestCase):
    def test_what_a_later_batch_changes_stays_told_and_what_the_first_one_does_is_told_apart(self):
        for changing, first, later in (((0,), True, False), ((1,), False, True), ((0, 2), True, True)):
            with self.subTest(changing=changing):
                dataset = support.Numbers(4)
                dataset.made = []
                observer = Observer(dataset)
                fetcher = types.SimpleNamespace(dataset=dataset, collate_fn=list)
                for batch in range(4):
                    observer.before(fetcher)
                    if batch in changing:
                        dataset.made.append(batch)
                    observer.after(fetcher)
                found = (observer.first_changed is not None, observer.changed is not None)
                self.assertEqual(found, (first, later))

    def test_of_a_large_batch_the_first_bytes_of_all_its_parts_together_are_compared(self):
        batch = [torch.tensor([1, 2]), torch.tensor([3, 4])]
        other = [torch.tensor([1, 2]), torch.tensor([3, 5])]
        self.assertNotEqual(comparison.digest(batch), comparison.digest(other))
        with mock.patch.object(comparison, "_MOST_BYTES", 16):
            self.assertEqual(comparison.digest(batch), comparison.digest(other))


class ShardingTest(unittest.TestCase):
    def copies(self, *batches_of_workers):
        with tempfile.TemporaryDirectory() as folder:
            for pid, batches in enumerate(batches_of_workers):
                told = [sharding.parts([torch.arange(first, first + 8)]) for first in batches]
                sharding._write(sharding._file_of(folder, pid), told)
            return sharding.sample_copies(folder, range(len(batches_of_workers)))

    def test_samples_are_delivered_by_as_many_workers_as_make_the_same(self):
        alike, other = (0, 8), (16, 24)
        self.assertEqual(self.copies(alike, alike, alike), 3)
        self.assertEqual(self.copies(alike, other), 1)
        self.assertEqual(self.copies(alike, alike, other, other), 2)
        self.assertIsNone(self.copies(alike))


class IteratorTest(unittest.TestCase):
    def setUp(self):
        self.loader = DataLoader(support.Numbers(6), batch_size=2)
        self.session = Heard()
        self.watched = Watched(self.loader, self.session, None)

    def test_epochs_are_numbered_from_0_as_they_begin_and_end(self):
        iterator = LiveIterator(self.loader, self.watched)
        list(iterator)
        iterator.begin()
        told = [(each["event"], each["epoch"]) for each in self.session.all_of("epoch")]
        self.assertEqual(told, [("begin", 0), ("end", 0), ("begin", 1)])

    def test_a_change_is_made_and_the_script_ended_after_as_many_batches_as_asked_also_over_epochs(self):
        self.watched.asked = {"setting": self.watched.own, "change": 7, "atBatch": 4}
        self.watched.ends_at = 5
        iterator = LiveIterator(self.loader, self.watched)
        list(iterator)
        self.assertEqual(self.session.all_of("changed"), [])
        iterator.begin()
        with self.assertRaises(SystemExit):
            list(iterator)
        told = [(each["change"], each["atBatch"]) for each in self.session.all_of("changed")]
        self.assertEqual((told, self.watched.delivered), ([(7, 4)], 5))

    def test_after_a_failure_of_pinbench_s_own_nothing_is_told_any_more(self):
        self.watched.step_aside(ValueError("it broke"))
        self.watched.tell("batch")
        self.assertEqual(self.session.told[-1]["message"], "ValueError: it broke")
        self.assertTrue(self.watched.is_untouched)


class InnerTest(unittest.TestCase):
    def begun(self, loader, folder=None):
        inner = Inner(loader, setting(1), 1, folder)
        self.addCleanup(deaths.end, inner)
        inner.start(Feed(iter(loader._index_sampler)))
        inner.open()
        return inner

    def test_a_batch_is_waited_for_as_long_as_the_script_or_pinbench_bears_whichever_is_shorter(self):
        for own, seconds, limit in ((30, 20, 20), (30, 40, 30), (0, 40, 40)):
            inner = self.begun(DataLoader(support.Numbers(4), num_workers=1, timeout=own))
            inner.next_within(seconds)
            self.assertEqual(inner.iterator._timeout, limit)

    def test_the_place_of_sockets_is_that_of_the_script_again_once_workers_have_started(self):
        config = multiprocessing.current_process()._config
        loader = DataLoader(support.Numbers(4), num_workers=1)
        with tempfile.TemporaryDirectory() as folder:
            for before in ({}, {"tempdir": "/of-the-script"}):
                with mock.patch.dict(config, before):
                    kept = dict(config)
                    inner = self.begun(loader, folder)
                    self.assertEqual(dict(config), kept)
                    deaths.end(inner)


if __name__ == "__main__":
    unittest.main()
