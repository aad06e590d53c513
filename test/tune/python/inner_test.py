"""What starting and ending a tried setting leaves as it was, and what it does if something fails."""

import contextlib
import gc
import json
import multiprocessing
import multiprocessing.queues
import os
import tempfile
import types
import unittest
import warnings
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader, IterableDataset

from pinbench_live.probe import probe_module
from pinbench_live.tried import deaths
from pinbench_live.tried import inner as inner_module
from pinbench_live.tried.feed import Feed
from pinbench_live.tried.inner import Inner
from pinbench_live.tried.tried_worker import TriedWorker


class PlaceTest(unittest.TestCase):
    def begun(self, **arguments):
        loader = DataLoader(support.Numbers(4), **arguments)
        inner = Inner(loader, support.setting(1), 1)
        self.addCleanup(deaths.end, inner)
        inner.start(Feed(iter(loader._index_sampler)))
        return inner

    def test_what_the_script_ignores_of_warnings_is_what_it_was_once_workers_have_started(self):
        before = list(warnings.filters)
        self.begun()
        self.assertEqual(warnings.filters, before)

    def test_objects_that_the_script_has_frozen_stay_frozen_and_others_are_not(self):
        before = gc.get_freeze_count()
        self.begun()
        self.assertEqual(gc.get_freeze_count(), before)
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        self.begun()
        self.assertGreater(gc.get_freeze_count(), 10_000)


class CopyTest(unittest.TestCase):
    """A copy of the script's loader, which differs in the tuned arguments alone."""

    def copy(self, loader, tried, **arguments):
        return Inner(loader, tried, 1, **arguments)._loader

    def test_it_has_the_tried_setting_and_all_else_of_the_script_s(self):
        generator, started = torch.Generator(), []
        loader = DataLoader(
            support.Numbers(8),
            num_workers=1,
            collate_fn=list,
            generator=generator,
            timeout=9,
            worker_init_fn=started.append,
        )
        tried = {**support.setting(2, prefetch=5, persistent=True), "pinMemory": True}
        copy = self.copy(loader, tried, folder="/nowhere")
        found = (copy.num_workers, copy.pin_memory, copy.prefetch_factor, copy.persistent_workers, copy.timeout)
        self.assertEqual(found, (2, True, 5, True, 9))
        self.assertIs(copy.collate_fn, list)
        # Its workers draw seeds of their own.
        self.assertIsNot(copy.generator, generator)
        self.assertEqual((copy.worker_init_fn.init_fn, copy.worker_init_fn.folder), (loader.worker_init_fn, "/nowhere"))
        own = Inner(loader, support.setting(2), 0)._loader
        self.assertIs(own.generator, generator)
        self.assertEqual(own.worker_init_fn, loader.worker_init_fn)

    def test_it_is_asked_for_indices_where_the_script_s_is(self):
        for batch_size, name in ((2, "batch_sampler"), (None, "sampler")):
            inner = Inner(DataLoader(support.Numbers(8), batch_size=batch_size), support.setting(0), 1)
            self.assertIs(getattr(inner._loader, name), inner.gate)

    def test_what_the_script_has_changed_since_its_epoch_began_does_not_reach_it(self):
        loader = DataLoader(support.Numbers(8), collate_fn=list)
        attributes = {**vars(loader), "_iterator": "of the script's"}
        vars(loader)["collate_fn"] = tuple
        copy = self.copy(loader, support.setting(0), attributes=attributes)
        self.assertEqual((copy.collate_fn, copy._iterator), (list, None))

    def test_seeds_of_two_tried_settings_differ_and_are_those_of_the_script_s_own_seed(self):
        loader, seeds = DataLoader(support.Numbers(8)), []
        for seed in (1, 1, 2):
            with mock.patch("torch.initial_seed", return_value=seed), mock.patch.object(
                inner_module, "_generators", iter([5, 6])
            ):
                seeds.append([self.copy(loader, support.setting(1)).generator.initial_seed() for _ in range(2)])
        self.assertEqual(seeds[0], seeds[1])
        self.assertNotEqual(seeds[0], seeds[2])
        self.assertNotEqual(seeds[0][0], seeds[0][1])

    def test_a_fork_is_known_by_the_loader_s_own_way_or_by_that_of_the_process(self):
        for own, of_process, is_fork in (
            ("spawn", "fork", False),
            ("fork", "spawn", True),
            (None, "spawn", False),
            (None, None, True),
        ):
            context = None if own is None else multiprocessing.get_context(own)
            loader = types.SimpleNamespace(multiprocessing_context=context)
            with mock.patch.object(multiprocessing, "get_start_method", return_value=of_process):
                self.assertIs(inner_module.forks(loader), is_fork)

    def test_the_script_s_own_setting_is_told_in_plain_numbers(self):
        loader = types.SimpleNamespace(num_workers=0, pin_memory=1, prefetch_factor=2, persistent_workers=True)
        none = {"numWorkers": 0, "pinMemory": True, "prefetchFactor": None, "persistentWorkers": False}
        self.assertEqual(inner_module.own_setting(loader), none)
        loader.num_workers, loader.prefetch_factor = True, 3.0
        told = inner_module.own_setting(loader)
        self.assertEqual((told["numWorkers"], told["prefetchFactor"], told["persistentWorkers"]), (1, 3, True))
        self.assertEqual([type(told[name]) for name in ("numWorkers", "prefetchFactor")], [int, int])

    def test_what_is_drawn_aside_leaves_the_loader_s_generator_and_others_and_a_seed_is_drawn_from_the_loader_s(self):
        own, other = torch.Generator(), torch.Generator()
        loader = DataLoader(support.Numbers(8), generator=own)
        states = lambda: [each.get_state().tolist() for each in (own, other)]
        before, of_process = states(), torch.get_rng_state().tolist()
        with inner_module.unchanged_randomness(loader, other):
            torch.rand(1, generator=own)
            torch.rand(1, generator=other)
        self.assertEqual(states(), before)
        inner_module.draw_seed(loader)
        self.assertNotEqual(states()[0], before[0])
        self.assertEqual(torch.get_rng_state().tolist(), of_process)


class WaitingTest(unittest.TestCase):
    def test_sockets_are_in_the_folder_while_forked_workers_of_a_tried_setting_start(self):
        config = multiprocessing.current_process()._config
        with tempfile.TemporaryDirectory() as folder:
            for changes, is_there in (
                ({}, True),
                ({"is_own": True}, False),
                ({"_is_forked": False}, False),
                ({"folder": None}, False),
                ({"folder": "/no/such/folder"}, False),
            ):
                inner = Inner(DataLoader(support.Numbers(8)), support.setting(1), 1, folder)
                vars(inner).update(changes)
                with inner._own_place():
                    self.assertIs(config.get("tempdir") == folder, is_there)

    def test_a_stream_s_batches_are_not_asked_for_before_torch_asks(self):
        class Stream(IterableDataset):
            def __iter__(self):
                return iter(range(8))

        for dataset, asked in ((Stream(), 0), (support.Numbers(8), 6)):
            inner = Inner(DataLoader(dataset), support.setting(2, prefetch=3), 1)
            inner.iterator = mock.Mock()
            inner.open()
            self.assertEqual(inner.iterator._try_put_index.call_count, asked)

    def test_workers_that_the_script_has_cut_off_are_given_up_and_others_end_as_torch_s_do(self):
        for lost in (True, False):
            inner = Inner(DataLoader(support.Numbers(8)), support.setting(1), 1)
            iterator, handles = mock.Mock(), mock.Mock()
            handles.are_lost.return_value = handles.seem_lost.return_value = lost
            inner.iterator, inner._handles = iterator, handles
            self.assertIs(inner.has_lost_files(), lost)
            inner.end()
            calls = (handles.abandon.called, iterator._shutdown_workers.called, handles.close.called)
            self.assertEqual(calls, (lost, not lost, not lost))
            self.assertEqual((inner.iterator, inner.has_lost_files()), (None, False))

    def test_an_epoch_of_the_script_s_own_begins_with_the_workers_that_there_are(self):
        loader = DataLoader(support.Numbers(8), num_workers=1, persistent_workers=True)
        inner = Inner(loader, support.setting(1, persistent=True), 0)
        with mock.patch.object(DataLoader, "_get_iterator", return_value=mock.Mock()) as made:
            for _ in range(3):
                inner.begin(Feed())
        made.assert_called_once_with()
        self.assertEqual(inner.iterator._reset.call_args_list, [mock.call(inner._loader)] * 2)
        # torch's own have no descriptors that are pinbench's.
        self.assertIsNone(inner._handles)


class TriedWorkerTest(unittest.TestCase):
    """In the place of a worker: what it does before the script's own start."""

    def setUp(self):
        kept = multiprocessing.queues.Queue._on_queue_feeder_error
        self.addCleanup(setattr, multiprocessing.queues.Queue, "_on_queue_feeder_error", staticmethod(kept))
        self.done = []
        for name, function in (("making", "split"), ("making", "observe"), ("sharding", "record")):
            patched = mock.patch.object(probe_module(name), function, lambda *of, what=function: self.done.append(what))
            patched.start()
            self.addCleanup(patched.stop)

    def test_it_is_timed_or_observed_and_then_starts_as_the_script_wants(self):
        for is_observed, done in ((False, ["split", 3]), (True, ["observe", "record", 3])):
            self.done.clear()
            TriedWorker(self.done.append, "/nowhere", is_observed)(3)
            self.assertEqual(self.done, done)
        TriedWorker(None, "/nowhere", False)(0)

    def test_a_batch_that_cannot_be_sent_ends_it_with_a_note_even_where_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            for to, is_left in ((folder, True), (os.path.join(folder, "gone"), False)):
                TriedWorker(None, to, False)(0)
                with mock.patch("os._exit") as ended, contextlib.suppress(FileNotFoundError):
                    multiprocessing.queues.Queue._on_queue_feeder_error(TypeError("cannot pickle this"), None)
                ended.assert_called_once_with(83)
            (name,) = os.listdir(folder)
            with open(os.path.join(folder, name)) as file:
                self.assertIn("cannot pickle this", json.load(file)["text"])
