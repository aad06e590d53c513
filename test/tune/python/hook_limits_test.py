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
from hook_test import Heard
from torch.utils.data import DataLoader

from pinbench_live import facts, session
from pinbench_live.judged import comparison
from pinbench_live.judged.verdict import DISCARDED, HANDED, Verdict
from pinbench_live.live_iterator import LiveIterator
from pinbench_live.patience import Patience
from pinbench_live.probe import probe_module
from pinbench_live.seen.observer import Observer
from pinbench_live.tried import deaths
from pinbench_live.tried.feed import Feed
from pinbench_live.tried.inner import Inner
from pinbench_live.watched import Watched

sharding = probe_module("sharding")
worker_records = probe_module("worker_records")


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
            with mock.patch.object(facts.resource, "getrlimit", lambda _: (soft, 5000)):
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
                worker_records.write(sharding.file_of(folder, pid), told)
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

    def test_a_change_is_made_and_the_script_ended_after_as_many_batches_as_asked_also_over_epochs(self):
        self.watched.asked = {"setting": self.watched.own, "change": 7, "atBatch": 4}
        self.watched.ends_at = 5
        iterator = LiveIterator(self.loader, self.watched)
        list(iterator)
        self.assertEqual(self.session.all_of("changed"), [])
        iterator.begin()
        with self.assertRaises(SystemExit) as ended:
            list(iterator)
        self.assertEqual(ended.exception.code, 0)
        told = [(each["change"], each["atBatch"]) for each in self.session.all_of("changed")]
        self.assertEqual((told, self.watched.delivered), ([(7, 4)], 5))

    def test_a_setting_in_force_that_is_asked_for_again_keeps_the_new_number_over_epochs(self):
        iterator = LiveIterator(self.loader, self.watched)
        next(iterator)
        self.watched.asked = {"setting": self.watched.own, "change": 7, "atBatch": 0}
        list(iterator)
        iterator.begin()
        list(iterator)
        iterator.begin()
        told = [each["change"] for each in self.session.all_of("batches")]
        self.assertEqual([change for change, _ in itertools.groupby(told)], [0, 7])

    def test_after_the_search_the_loop_is_not_held_for_batches_that_are_discarded(self):
        self.watched.verdict = Verdict(DISCARDED, "a reason")
        iterator = LiveIterator(self.loader, self.watched)
        self.watched.asked = {"setting": support.setting(2), "change": 7, "atBatch": 0}
        with mock.patch("pinbench_live.live_iterator.Aside") as held:
            next(iterator)
        held.assert_not_called()
        self.assertEqual([each["change"] for each in self.session.all_of("failed")], [7])

    def test_what_several_settings_have_drawn_is_made_again_in_its_order_and_their_workers_end(self):
        loader = DataLoader(support.Numbers(40), batch_size=2)
        watched = Watched(loader, self.session, None)
        watched.verdict = Verdict(HANDED)
        iterator = LiveIterator(loader, watched)
        got = [next(iterator)]
        for change, workers in ((1, 2), (2, 1)):
            watched.asked = {"setting": support.setting(workers), "change": change, "atBatch": 0}
            got.append(next(iterator))
        tried = list(iterator._inners)
        workers = [worker for inner in tried for worker in inner.workers()]
        self.assertEqual((len(tried), len(workers)), (2, 3))
        iterator._take_back()
        # Later epochs begin with it too.
        self.assertEqual((watched.setting, watched.change), (watched.own, 0))
        self.assertEqual(support.numbers_of(got + list(iterator)), [[n, n + 1] for n in range(0, 40, 2)])
        self.assertEqual([inner.worker_pids() for inner in tried], [[], []])

    def test_after_an_error_of_pinbench_s_own_no_earlier_loader_of_it_goes_on(self):
        loader = DataLoader(support.Numbers(40), batch_size=2)
        watched = Watched(loader, self.session, None)
        watched.verdict = Verdict(HANDED)
        iterator = LiveIterator(loader, watched)
        got = [next(iterator)]
        for change, setting in ((1, support.setting(2)), (2, watched.own)):
            watched.asked = {"setting": setting, "change": change, "atBatch": 0}
            got.append(next(iterator))
        tried, own = iterator._inners
        self.assertEqual((len(tried.worker_pids()), own.is_own), (2, True))
        iterator._guarded(mock.Mock(side_effect=ValueError("it broke")))
        self.assertEqual(tried.worker_pids(), [])
        self.assertEqual(support.numbers_of(got + list(iterator)), [[n, n + 1] for n in range(0, 40, 2)])

    def test_without_room_for_the_script_s_own_workers_its_batches_are_made_without(self):
        loader = DataLoader(support.Numbers(6), batch_size=2, num_workers=1)
        iterator = LiveIterator(loader, Watched(loader, self.session, None))
        start = Inner.start

        def starts(inner, feed):
            if inner.setting["numWorkers"] > 0:
                raise OSError("no room for another process")
            start(inner, feed)

        with mock.patch.object(Inner, "start", starts):
            iterator._take_back()
        self.assertEqual(support.numbers_of(iterator), [[0, 1], [2, 3], [4, 5]])

    def test_workers_of_an_epoch_that_was_left_end_as_the_next_one_begins(self):
        loader = DataLoader(support.Numbers(12), batch_size=2, num_workers=1, persistent_workers=True)
        watched = Watched(loader, self.session, None)
        watched.verdict = Verdict(HANDED)
        iterator = LiveIterator(loader, watched)
        self.addCleanup(lambda: [deaths.end(inner) for inner in iterator._inners])
        watched.asked = {"setting": support.setting(2), "change": 1, "atBatch": 0}
        next(iterator)
        left = iterator._inners[-1]
        self.assertEqual(len(left.worker_pids()), 2)
        iterator.begin()
        self.assertEqual(left.worker_pids(), [])


class InnerTest(unittest.TestCase):
    def test_the_finalizer_of_the_script_s_loader_does_not_run_for_a_copy(self):
        ended = []

        class Own(DataLoader):
            def __del__(self):
                ended.append(self)

        loader = Own(support.Numbers(4))
        Inner(loader, support.setting(0), 1)
        self.assertEqual(ended, [])

    def begun(self, loader, folder=None):
        inner = Inner(loader, support.setting(1), 1, folder)
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
