"""The hook's line to pinbench, files that are open, what a setting may do, and what starting and ending one leaves."""

import contextlib
import ctypes
import gc
import json
import multiprocessing
import multiprocessing.queues
import os
import socket
import sys
import tempfile
import types
import unittest
import warnings
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data._utils import signal_handling

from pinbench_live import line
from pinbench_live.judged.verdict import DISCARDED, HANDED, REFUSED, Verdict, way_of
from pinbench_live.probe import probe_module
from pinbench_live.seen import open_files
from pinbench_live.tried import deaths, handles, inner as inner_module
from pinbench_live.tried.feed import Feed
from pinbench_live.tried.handles import Handles
from pinbench_live.tried.inner import Inner
from pinbench_live.tried.tried_worker import TriedWorker
from pinbench_probe import place


class LineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "socket")
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(self.server.close)
        self.server.bind(path)
        self.server.listen()
        self.line = line.Line(path)
        self.addCleanup(self.line.close)

    def test_reports_that_nobody_reads_pile_up_to_a_limit(self):
        with mock.patch.object(line, "_MOST_UNSENT", 100_000):
            for _ in range(1000):
                self.line.tell("batch", text="x" * 10_000)
                self.assertLess(len(self.line._unsent), 200_000)
        self.assertFalse(self.line.is_open)

    def test_nothing_is_sent_over_a_connection_of_the_script_that_has_the_line_s_descriptor(self):
        own, other = socket.socketpair()
        with own, other:
            descriptor = self.line._socket.fileno()
            os.dup2(own.fileno(), descriptor)
            self.line.tell("batch")
            self.assertFalse(self.line.is_open)
            os.close(descriptor)  # it is still the script's
            own.close()
            self.assertEqual(other.recv(100), b"")

    def test_what_does_not_fit_at_once_follows_as_it_is_read(self):
        pinbench, _ = self.server.accept()
        with pinbench:
            for number in range(3):
                self.line.tell("batch", number=number, text="x" * 300_000)
            pinbench.settimeout(20)
            heard = b""
            while heard.count(b"\n") < 3:
                heard += pinbench.recv(1 << 20)
                self.assertEqual(self.line.commands(), [])
        self.assertEqual([json.loads(line)["number"] for line in heard.splitlines()], [0, 1, 2])

    def test_it_ends_with_pinbench_whether_it_only_tells_or_only_listens(self):
        listening = line.Line(self.server.getsockname())
        for each, use in ((self.line, lambda: self.line.tell("batch")), (listening, listening.commands)):
            self.server.accept()[0].close()
            use()
            self.assertFalse(each.is_open)

    def test_nothing_is_read_from_a_connection_of_the_script_that_has_the_line_s_descriptor(self):
        own, other = socket.socketpair()
        with own, other:
            other.sendall(b'{"type": "rest"}\n')
            descriptor = self.line._socket.fileno()
            os.dup2(own.fileno(), descriptor)
            self.assertEqual(self.line.commands(), [])
            self.assertFalse(self.line.is_open)
            os.close(descriptor)
            self.assertEqual(own.recv(100), b'{"type": "rest"}\n')

    def test_a_forked_process_has_no_part_in_its_parent_s_line(self):
        pid = os.fork()
        if pid == 0:
            os._exit(self.line.is_open)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertTrue(self.line.is_open)


class ProcessPlaceTest(unittest.TestCase):
    def test_a_place_has_the_cpus_of_the_thread_and_the_policy_of_the_process(self):
        allowed = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, allowed)
        os.sched_setaffinity(0, {max(allowed)})
        hidden = mock.mock_open(read_data="7f00 bind:0-1 file=/usr/bin/python3 mapped=2 N0=2\n")
        with mock.patch("builtins.open", hidden):
            expected = {"cpus": [max(allowed)], "memoryPolicy": "bind:0-1", "pciBusId": None}
            self.assertEqual(place.place(False), expected)
        with mock.patch("builtins.open", side_effect=PermissionError):
            self.assertIsNone(place.place(False)["memoryPolicy"])

    def test_the_driver_knows_the_gpu_that_torch_uses(self):
        environment = {"PINBENCH_EMULATED_DEVICES": "3"}
        with mock.patch.dict(os.environ, environment), mock.patch("torch.cuda.current_device", return_value=2):
            driver = ctypes.CDLL(support.EMULATED_DRIVER)
            with mock.patch("ctypes.CDLL", return_value=driver):
                self.assertIsNone(place.place(True)["pciBusId"])  # before cuInit
                self.assertEqual(driver.cuInit(0), 0)
                self.assertEqual(place.place(True)["pciBusId"], "eeee:02:00.0")
        with mock.patch("ctypes.CDLL", side_effect=OSError):
            self.assertIsNone(place.place(True)["pciBusId"])


class ProbeTest(unittest.TestCase):
    def test_modules_of_the_probe_are_found_without_a_place_among_the_script_s(self):
        before = list(sys.path)
        probe_module("batch")
        self.assertEqual(sys.path, before)


class OpenFilesTest(unittest.TestCase):
    def test_a_file_has_moved_if_it_is_the_same_one_at_another_position(self):
        before = {3: ("a", (1, 7), 0), 4: ("b", (1, 8), 5)}
        self.assertEqual(open_files.moved(before, {3: ("a", (1, 7), 4), 4: ("b", (1, 8), 5)}), "a")
        # A descriptor that is another file's by now, one that is new, and one that is gone.
        self.assertIsNone(open_files.moved(before, {3: ("c", (1, 9), 4), 5: ("d", (1, 10), 4)}))

    def test_files_that_are_only_written_are_not_among_those_that_workers_would_share(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            with open(path, "w") as log:
                log.write("one line")
                log.flush()
                with open(path) as read:
                    read.seek(3)
                    found = open_files.positions()
                    self.assertEqual(found[read.fileno()][2], 3)
                    self.assertNotIn(log.fileno(), found)


class HandlesTest(unittest.TestCase):
    def setUp(self):
        self.iterator = iter(DataLoader(support.Numbers(8), num_workers=1))
        self.handles = Handles(self.iterator)
        self.last = self.iterator._worker_result_queue._reader

    def test_the_descriptors_of_ended_workers_are_closed(self):
        self.iterator._shutdown_workers()
        self.handles.close()
        self.assertTrue(self.last.closed)

    def test_of_what_torch_leaves_open_nothing_is_left_but_what_a_running_worker_needs(self):
        (worker,) = self.iterator._workers
        self.handles.close()
        self.assertIsNotNone(handles.file_of(worker.sentinel))
        other = iter(DataLoader(support.Numbers(8), num_workers=1))
        known, queue, (ended,) = Handles(other), other._worker_result_queue, other._workers
        other._shutdown_workers()
        known.close()
        self.assertEqual((queue._reader.closed, queue._writer.closed), (True, True))
        self.assertIsNone(handles.file_of(ended.sentinel))

    def test_workers_whose_descriptors_are_the_script_s_by_now_end_without_touching_them(self):
        (worker,) = self.iterator._workers
        numbers = (self.last.fileno(), worker.sentinel)
        with tempfile.TemporaryFile() as own, mock.patch.object(
            signal_handling, "_remove_worker_pids", wraps=signal_handling._remove_worker_pids
        ) as forgotten:
            for number in numbers:
                os.dup2(own.fileno(), number)
            self.assertTrue(self.handles.are_lost())
            self.handles.abandon()
            self.assertFalse(worker.is_alive())
            forgotten.assert_called_once_with(id(self.iterator))
            # torch's own ending has nothing to do any more.
            self.assertFalse(self.handles.are_lost())
            del self.iterator, self.handles, self.last, worker
            gc.collect()
            self.assertEqual([handles.file_of(number) for number in numbers], [handles.file_of(own.fileno())] * 2)
        for number in numbers:
            os.close(number)

    def test_what_is_lost_in_the_middle_is_noticed_at_the_next_look_at_all(self):
        (worker,) = self.iterator._workers
        (queue,) = self.iterator._index_queues
        numbers = sorted(
            end.fileno() for each in (queue, self.iterator._worker_result_queue) for end in (each._reader, each._writer)
        )
        file_of = handles.file_of
        for closed in (worker.sentinel, numbers[1]):
            with mock.patch.object(handles, "file_of", lambda each: None if each == closed else file_of(each)):
                for seconds, lost in ((3600, False), (0, True), (3600, False)):
                    with mock.patch.object(handles, "_LOOK_SECONDS", seconds):
                        self.assertIs(self.handles.seem_lost(), lost)

    def test_a_descriptor_that_is_another_file_s_by_now_stays_open(self):
        self.iterator._shutdown_workers()
        with tempfile.TemporaryFile() as own:
            os.dup2(own.fileno(), self.last.fileno())
            self.handles.close()
            self.assertFalse(self.last.closed)
        self.last.close()

    @mock.patch.object(handles, "_LOOK_SECONDS", 3600)
    def test_a_range_that_the_script_has_closed_is_noticed_at_once_at_either_end(self):
        queues = [*self.iterator._index_queues, self.iterator._worker_result_queue]
        numbers = sorted(end.fileno() for queue in queues for end in (queue._reader, queue._writer))
        file_of = handles.file_of
        for closed, lost in ((None, False), (numbers[0], True), (numbers[-1], True)):
            with mock.patch.object(handles, "file_of", lambda each: None if each == closed else file_of(each)):
                self.assertEqual(self.handles.seem_lost(), lost)

    @mock.patch.object(handles, "_LOOK_SECONDS", 3600)
    def test_what_torch_closes_at_the_end_of_an_epoch_is_not_lost(self):
        self.iterator._shutdown_workers()
        self.handles.close()
        self.assertFalse(self.handles.seem_lost())


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))


class VerdictTest(unittest.TestCase):
    """By the script's own number of workers, that of the setting, and what batches depend on."""

    def ways(self, own, verdict, *settings):
        loader = DataLoader(support.Numbers(4))
        return [way_of(each, loader, own, verdict) for each in settings]

    def test_a_loader_runs_without_its_workers_only_if_that_leaves_the_training_process_as_it_is(self):
        own = support.setting(2)
        for alone, way in ((True, HANDED), (False, REFUSED)):
            verdict = Verdict(HANDED, without_workers=alone)
            self.assertEqual(
                self.ways(own, verdict, support.setting(0), support.setting(3), own), [way, HANDED, HANDED]
            )
        self.assertEqual(self.ways(own, None, support.setting(0), support.setting(3), own), [None, None, HANDED])

    def test_a_stream_under_another_setting_is_another_whatever_its_workers_are(self):
        loader = DataLoader(Stream())
        for own in (support.setting(0), support.setting(2)):
            pinned = {**own, "pinMemory": True}
            ways = [
                way_of(each, loader, own, Verdict(DISCARDED, "a reason"))
                for each in (own, pinned, support.setting(0, 2))
            ]
            self.assertEqual(ways, [HANDED, DISCARDED, HANDED if own["numWorkers"] == 0 else DISCARDED])

    def test_another_prefetch_makes_other_batches_only_if_these_depend_on_what_is_drawn_ahead(self):
        own = support.setting(2)
        persistent = support.setting(2, persistent=True)
        for matters, way in ((True, DISCARDED), (False, HANDED)):
            verdict = Verdict(DISCARDED, "a reason", ahead_matters=matters)
            ways = self.ways(own, verdict, support.setting(2, prefetch=4), persistent, support.setting(3))
            self.assertEqual(ways, [way, HANDED, DISCARDED])


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
