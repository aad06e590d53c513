"""What the hook reports of a loader: its batches and changes, what they hold, and where its loop comes from."""

import itertools
import os
import pickle
import signal
import types
import unittest
from unittest import mock

import support
import torch
from hook_test import Heard
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

from pinbench_live import facts, loaders, reporting
from pinbench_live.judged.verdict import DISCARDED, HANDED, Verdict
from pinbench_live.live_iterator import LiveIterator
from pinbench_live.own_again import OwnAgain
from pinbench_live.probe import probe_module
from pinbench_live.reporting import Reporting
from pinbench_live.tried import deaths, failures, handlers
from pinbench_live.watched import Watched


making = probe_module("making")


class ReportingTest(unittest.TestCase):
    def setUp(self):
        self.session = Heard()
        loader = DataLoader(support.Numbers(12), batch_size=2, num_workers=1)
        self.watched = Watched(loader, self.session, None)
        self.reporting = Reporting(self.watched)
        self.now_ns = 10**12
        # By the number of the worker: so many batches, each of a millisecond of that number.
        totals = lambda _folder, pids: (sum(pids), sum(pid * pid for pid in pids) * 1_000_000)
        for patched in (
            mock.patch.object(making, "totals", totals),
            mock.patch.object(reporting, "time", types.SimpleNamespace(perf_counter_ns=lambda: self.now_ns)),
        ):
            patched.start()
            self.addCleanup(patched.stop)

    def inner(self, change, pids):
        return types.SimpleNamespace(change=change, is_discarded=False, makers=lambda: pids, worker_pids=lambda: pids)

    def deliver(self, inner, wait_ns=0, after_ns=1000):
        self.now_ns += after_ns
        self.watched.delivered += 1
        self.reporting.delivered(inner, torch.zeros(2, 1), self.now_ns - wait_ns)

    def test_after_a_change_the_figures_are_those_of_the_new_workers(self):
        for change, pids in ((0, [3]), (1, [5, 7]), (2, [2])):
            self.deliver(self.inner(change, pids))
        self.reporting.flush()
        fields = ("change", "workers", "made", "makeNs")
        told = [tuple(each[name] for name in fields) for each in self.session.all_of("batches")]
        self.assertEqual(told, [(0, [3], 3, 9_000_000), (1, [5, 7], 12, 74_000_000), (2, [2], 2, 4_000_000)])

    def test_each_batch_is_told_once_with_its_wait_and_under_the_change_that_made_it(self):
        first, second = self.inner(0, [3]), self.inner(1, [5])
        for inner, waits in ((first, (7, 8, 9)), (second, (20, 21)), (first, (3,))):
            for wait_ns in waits:
                self.deliver(inner, wait_ns)
        self.reporting.epoch("end", 0)
        told = self.session.all_of("batches")
        of_change = lambda change: [ns for each in told if each["change"] == change for ns in each["waitNs"]]
        self.assertEqual((of_change(0), of_change(1)), ([7, 8, 9, 3], [20, 21]))
        at_ns = [ns for each in told for ns in each["ns"]]
        self.assertEqual(at_ns, [10**12 + 1000 * n for n in range(1, 7)])
        self.assertEqual([each["type"] for each in self.session.told][-1], "epoch")

    def test_batches_are_told_at_most_every_20_ms(self):
        inner = self.inner(0, [3])
        for _ in range(100):
            self.deliver(inner, after_ns=1_000_000)
        told = [len(each["ns"]) for each in self.session.all_of("batches")]
        self.assertEqual(told, [1, 20, 20, 20, 20])

    def test_what_a_batch_holds_is_told_once_over_all_epochs(self):
        inner = self.inner(0, [3])
        for _epoch in range(2):
            for _batch in range(3):
                self.deliver(inner)
            self.reporting.epoch("end", 0)
            self.reporting = Reporting(self.watched)
        self.assertEqual([each["samples"] for each in self.session.all_of("batch")], [2])

    def test_the_time_of_making_is_looked_up_four_times_a_second(self):
        inner = self.inner(0, [3])
        with mock.patch.object(making, "totals", side_effect=[(1, 5), (9, 50), (20, 90)]):
            for _ in range(6):
                self.deliver(inner, after_ns=100_000_000)
        told = [(each["made"], each["makeNs"], each["collated"]) for each in self.session.all_of("batches")]
        self.assertEqual(told, [(1, 5, 0)] * 3 + [(9, 50, 0)] * 3)

    def test_a_change_is_told_after_the_batches_before_it_and_also_once_the_search_is_over(self):
        # Of the script's loaders it is the second one.
        watched = self.watched = Watched(DataLoader(support.Numbers(12)), self.session, None)
        self.reporting = Reporting(watched)
        for _ in range(2):
            self.deliver(self.inner(0, [3]))
        self.reporting.changed(7)
        watched.is_told = False
        self.reporting.changed(8)
        told = [each for each in self.session.told if each["type"] in ("batches", "changed")]
        self.assertEqual([each["type"] for each in told], ["batches"] * 2 + ["changed"] * 2)
        of = ("loader", "change", "atBatch", "ns")
        self.assertEqual(
            [tuple(each[name] for name in of) for each in told[2:]], [(2, 7, 2, self.now_ns), (2, 8, 2, self.now_ns)]
        )

    def test_a_batch_that_is_discarded_says_nothing_of_what_the_loop_s_own_hold(self):
        discarded = types.SimpleNamespace(**{**vars(self.inner(1, [5])), "is_discarded": True})
        self.watched.delivered = 1
        self.reporting.delivered(self.inner(0, [3]), torch.zeros(2, 1), self.now_ns, [4, 5, 6])
        self.reporting.delivered(discarded, None, self.now_ns)
        self.assertEqual(self.session.all_of("batch"), [])
        self.deliver(self.inner(0, [3]))
        # By its indices.
        self.assertEqual([(each["samples"], each["bytes"]) for each in self.session.all_of("batch")], [(3, 8)])

    def test_batches_of_a_validation_are_told_apart_and_an_event_has_its_own_time(self):
        for is_training in (True, False):
            with torch.set_grad_enabled(is_training):
                self.deliver(self.inner(0, [3]))
                self.reporting.epoch("end", 5)
        self.assertEqual([each["grad"] for each in self.session.all_of("batches")], [True, False])
        self.assertEqual([each["ns"] for each in self.session.all_of("epoch")], [5, 5])


class WatchedTest(unittest.TestCase):
    def setUp(self):
        self.session = Heard()
        self.watched = Watched(DataLoader(support.Numbers(12)), self.session, None)

    def test_a_loader_that_cannot_be_tuned_is_told_with_the_reason_and_nothing_more_of_it(self):
        watched = Watched(DataLoader(support.Numbers(12), batch_size=4), self.session, "a reason")
        watched.tell("epoch")
        (told,) = [each for each in self.session.told if each["loader"] == 2]
        of = ("untouchable", "source", "batchSize", "epochBatches", "framework")
        self.assertEqual(tuple(told[name] for name in of), ("a reason", "Numbers, 12 samples", 4, 3, None))

    def test_evidence_is_gathered_of_the_chosen_loader_alone_until_there_is_a_verdict(self):
        watched, verdict = self.watched, Verdict(DISCARDED, "a reason", without_workers=True)
        made = mock.Mock(verdict=None)
        with mock.patch("pinbench_live.watched.Evidence", return_value=made) as begun:
            watched.gather(None, True)
            begun.assert_not_called()
            watched.is_target = True
            for is_first in (True, False):
                watched.gather(None, is_first)
            made.verdict = verdict
            for _ in range(3):
                watched.gather(None, False)
            begun.assert_called_once_with(None, watched)
        self.assertEqual([call.args for call in made.before.call_args_list], [(True,), (False,), (False,)])
        self.assertIs(watched.verdict, verdict)
        (told,) = self.session.all_of("safety")
        self.assertEqual((told["workers"], told["reason"], told["withoutWorkers"]), (DISCARDED, "a reason", True))

    def test_after_a_failure_of_pinbench_s_own_the_loader_runs_as_the_script_made_it(self):
        watched = self.watched
        watched.is_target, watched.asked = True, {"change": 8}
        watched.setting, watched.change = support.setting(2), 7
        watched.step_aside(ValueError("x" * 400))
        self.assertEqual((watched.asked, watched.setting, watched.change), (None, watched.own, 0))
        self.assertEqual((watched.is_target, watched.is_told), (False, False))
        self.assertEqual(self.session.told[-1]["message"], "ValueError: " + "x" * 300)

    def test_what_a_dropped_loader_has_begun_ends_and_so_do_its_workers(self):
        watched = Watched(DataLoader(support.Numbers(12), num_workers=1, persistent_workers=True), self.session, None)
        loader, user = types.SimpleNamespace(), type("User", (), {"is_under_way": False})()
        self.assertIsNone(watched.attributes())
        inner = mock.Mock(setting=watched.own, change=7, attributes={"timeout": 5})
        inner.workers.return_value = []
        watched.put_in_force(inner, user, loader)
        self.assertEqual((watched.change, loader._iterator), (7, inner.iterator))
        self.assertEqual(watched.attributes(), {"timeout": 5})
        gathering = watched.evidence = mock.Mock()
        watched.end()
        watched.end()
        gathering.end.assert_called_once_with()
        inner.end.assert_called_once_with()

    def test_workers_that_nobody_uses_any_more_end_as_new_ones_are_wanted(self):
        watched = Watched(DataLoader(support.Numbers(12), num_workers=1, persistent_workers=True), self.session, None)
        loader, user = types.SimpleNamespace(), type("User", (), {"is_under_way": False})()
        inner = mock.Mock(setting=watched.own, change=0)
        inner.workers.return_value = []
        watched.put_in_force(inner, user, loader)
        watched.renew(loader)
        inner.end.assert_called_once_with()
        # A tried setting alone lets them persist: they have no attributes for the script.
        other = Watched(DataLoader(support.Numbers(12), num_workers=1), self.session, None)
        other.put_in_force(mock.Mock(setting=support.setting(2, persistent=True), change=1), user, None)
        self.assertIsNone(other.attributes())


class FactsTest(unittest.TestCase):
    def test_a_source_has_its_number_of_samples_unless_its_own_code_fails(self):
        class Failing(Dataset):
            def __len__(self):
                raise KeyError("no index")

        for dataset, told in ((support.Numbers(7), "Numbers, 7 samples"), (Failing(), "Failing")):
            self.assertEqual(facts.source(types.SimpleNamespace(dataset=dataset)), told)
        unsized = types.SimpleNamespace(dataset=support.Numbers(7), _index_sampler=Failing())
        self.assertIsNone(facts.length(unsized))

    def test_a_framework_is_known_by_its_package_wherever_it_is_on_the_stack(self):
        for name, framework in (
            ("lightning.pytorch.loops", "lightning"),
            ("pytorch_lightning", "lightning"),
            ("transformers.trainer", "transformers"),
            ("my.transformers", None),
            ("script", None),
        ):
            within = {"__name__": name, "ask": lambda: facts.framework()}
            exec("def call():\n    return ask()", within)
            self.assertEqual(within["call"](), framework)

    def test_what_keeps_batches_from_being_pinned(self):
        class Holder:
            def __init__(self):
                self.value = torch.zeros(1)

        tensors, holder, nothing = (facts.contents(each) for each in (torch.zeros(1), Holder(), ["text"]))
        for contents, on_device, has_device, reason in (
            (tensors, False, True, None),
            (tensors, False, False, "the script has not used a GPU"),
            (tensors, True, True, "the batches are on the GPU already"),
            (nothing, False, True, "the batches hold no tensors"),
            (holder, False, True, "the batches are of the type Holder, which has no pin_memory()"),
        ):
            self.assertEqual(facts._pinning_off(contents, on_device, has_device), reason)

    def test_a_gpu_is_named_once_the_script_has_used_it_and_a_batch_is_there_if_a_part_of_it_is(self):
        contents = facts.contents([torch.zeros(2), torch.zeros(2, device="meta")])
        cuda = {"is_available": lambda: True, "get_device_name": lambda: "a GPU"}
        for is_used, name in ((True, "a GPU"), (False, None)):
            with mock.patch.multiple(torch.cuda, is_initialized=lambda: is_used, **cuda), mock.patch.object(
                probe_module("place"), "place"
            ) as place:
                told = facts.batch(contents, [0, 1])
            self.assertEqual((told["device"], told["onDevice"]), (name, True))
            place.assert_called_once_with(is_used)
        self.assertGreater(told["filesInUse"], 2)
        self.assertIs(facts.batch(facts.contents(torch.zeros(2)), [0, 1])["onDevice"], False)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))

    def __len__(self):
        return 4


class LoaderFactsTest(unittest.TestCase):
    def test_a_loader_has_a_size_of_batches_unless_it_is_of_no_use(self):
        for size, told in ((4, 4), (None, None), (-1, None), ("4", None)):
            loader = types.SimpleNamespace(batch_size=None, batch_sampler=types.SimpleNamespace(batch_size=size))
            self.assertEqual(facts.batch_size(loader), told)

    def test_of_a_stream_nobody_knows_how_many_batches_there_are(self):
        self.assertEqual(facts.length(DataLoader(support.Numbers(7), batch_size=2)), 4)
        self.assertIsNone(facts.length(DataLoader(Stream(), batch_size=2)))

    def test_a_batch_has_as_many_samples_as_indices_or_else_as_its_first_tensor_is_long(self):
        contents = facts.contents(torch.zeros(5, 2))
        for drawn, samples in (([1, 2], 2), ((1, 2, 3), 3), (7, 5), (None, 5)):
            self.assertEqual(facts.samples(drawn, contents), samples)


class ProcessTest(unittest.TestCase):
    def watch(self):
        return loaders._Watch(None, None)

    def test_a_process_that_the_script_forks_speaks_for_itself(self):
        loader = DataLoader(support.Numbers(4))
        watch, sessions = self.watch(), [Heard(), Heard()]
        for session in sessions:
            session.is_open = True
        with mock.patch.object(watch, "_open", side_effect=sessions):
            found = [watch._find(loader), watch._find(loader)]
            with mock.patch.object(os, "getpid", return_value=-1):
                found += [watch._find(loader), watch._find(loader)]
        self.assertEqual([each.session for each in found], [sessions[0]] * 2 + [sessions[1]] * 2)

    def test_a_loader_gets_torch_s_own_iterator_in_a_worker_and_wherever_it_is_not_watched(self):
        for in_worker, found, is_own, renewed in (
            (True, lambda _: mock.Mock(is_untouched=False), True, 0),
            (False, ValueError, True, 0),
            (False, lambda _: None, True, 0),
            (False, lambda _: untouched, True, 1),
            (False, lambda _: untouched, True, 0),
            (False, lambda _: mock.Mock(is_untouched=False), False, 0),
        ):
            untouched = mock.Mock(is_untouched=True, is_new=renewed == 0)
            worker = types.SimpleNamespace(get_worker_info=lambda: in_worker or None)
            module = types.SimpleNamespace(_utils=types.SimpleNamespace(worker=worker))
            watch = loaders._Watch(module, lambda loader: "torch's")
            with mock.patch.object(watch, "_find", side_effect=found), mock.patch.object(watch, "_iterate"):
                self.assertIs(watch.iterate(None) == "torch's", is_own)
            self.assertEqual(untouched.renew.call_count, renewed)

    def test_nothing_is_watched_without_pinbench_or_once_it_wants_no_further_loader(self):
        loader = DataLoader(support.Numbers(4))
        for session in (None, types.SimpleNamespace(is_open=False)):
            watch = self.watch()
            with mock.patch.object(watch, "_open", return_value=session):
                self.assertIsNone(watch._find(loader))
        for environment in ({"PINBENCH_TUNE_SOCKET": "/nowhere/socket"}, {}):
            with mock.patch.dict(os.environ, environment, clear=True):
                self.assertIsNone(self.watch()._open())

    def test_workers_that_persist_have_one_iterator_for_all_epochs_until_the_script_ends_them(self):
        def iterators(**arguments):
            loader = DataLoader(support.Numbers(4), **arguments)
            watch, session = self.watch(), Heard()
            session.is_open = True
            watch._open = lambda: session
            with mock.patch("pinbench_live.live_iterator.LiveIterator", lambda *_: mock.Mock()):
                watched = watch._find(loader)
                yield watch._iterate(loader, watched)
                watched.is_new = False
                loader._iterator = "its iterator"
                while True:
                    yield watch._iterate(loader, watched)
                    loader._iterator = None

        first, second, third = itertools.islice(iterators(num_workers=1, persistent_workers=True), 3)
        self.assertIs(first, second)
        self.assertEqual((first.begin.call_count, third is first), (1, False))
        first, second = itertools.islice(iterators(num_workers=1), 2)
        self.assertIsNot(first, second)

    def test_loaders_are_watched_only_where_pinbench_is_still_in_the_environment(self):
        for environment, installed in (
            ({"PINBENCH_TUNE_SOCKET": "/a-folder/socket"}, [mock.call("/a-folder")]),
            ({}, []),
        ):
            original = lambda _loader: iter("ab")
            module = types.SimpleNamespace(DataLoader=type("DataLoader", (), {"__iter__": original}))
            with mock.patch.dict(os.environ, environment, clear=True), mock.patch.object(
                loaders.probe_module("making"), "install"
            ) as install:
                loaders.take_place(module)
            self.assertEqual(install.call_args_list, installed)
            self.assertIs(module.DataLoader.__iter__ is original, installed == [])

    def test_a_loader_that_is_not_as_torch_makes_it_is_not_tuned(self):
        class Own(DataLoader):
            def _get_iterator(self):
                return iter([])

        old = DataLoader(support.Numbers(4))
        del old.__dict__["prefetch_factor"]
        for loader, reason in (
            (DataLoader(support.Numbers(4)), None),
            (Own(support.Numbers(4)), "its type Own makes iterators of its own"),
            (old, "it is a DataLoader without prefetch_factor"),
        ):
            self.assertEqual(loaders._strangeness(loader), reason)

    def test_a_loader_that_is_gone_takes_no_other_of_its_number_along(self):
        old, new = object(), object()
        record = mock.Mock()
        watched = {7: (new, record)}
        loaders._forget(watched, 7, old)
        loaders._forget(watched, 8, old)
        self.assertEqual(watched, {7: (new, record)})
        loaders._forget(watched, 7, new)
        self.assertEqual(watched, {})
        record.end.assert_called_once_with()


class LoaderWatchedTest(unittest.TestCase):
    def watched(self, is_own):
        self.loader = DataLoader(support.Numbers(4), num_workers=1, persistent_workers=True)
        watched = Watched(self.loader, Heard(), None)
        inner = mock.Mock(setting=watched.own, change=0, is_own=is_own, iterator="its iterator")
        self.first = mock.Mock(is_under_way=True)
        watched.put_in_force(inner, self.first, self.loader)
        return watched, inner

    def test_workers_in_use_begin_another_epoch_only_if_they_are_the_script_s_own(self):
        for is_own in (True, False):
            watched, inner = self.watched(is_own)
            self.assertIs(watched.persisting(self.first), inner)
            self.assertIs(watched.persisting("another user"), inner if is_own else None)
            # Their batches are still asked for.
            inner.end.assert_not_called()

    def test_new_workers_begin_as_if_no_epoch_had_been(self):
        watched, _ = self.watched(True)
        watched.is_new = False
        self.assertEqual(self.loader._iterator, "its iterator")
        watched.renew(self.loader)
        self.assertEqual((watched.is_new, self.loader._iterator), (True, None))
        self.assertIsNone(watched.persisting(self.first))


class IteratorTest(unittest.TestCase):
    def iterator(self, length=6, **arguments):
        loader = DataLoader(support.Numbers(length), batch_size=2, **arguments)
        self.watched = Watched(loader, Heard(), None)
        self.watched.verdict = Verdict(HANDED)
        iterator = LiveIterator(loader, self.watched)
        self.addCleanup(lambda: [deaths.end(inner) for inner in iterator._inners])
        return iterator

    def ask(self, setting):
        self.watched.asked = {"setting": setting, "change": 7, "atBatch": 0}

    def test_each_epoch_has_a_first_batch_and_counts_its_own(self):
        iterator = self.iterator()
        firsts = []
        self.watched.gather = lambda _loader, is_first: firsts.append(is_first)
        for _epoch in range(2):
            self.assertEqual(iterator._num_yielded, 0)
            list(iterator)
            self.assertEqual(iterator._num_yielded, 3)
            iterator.begin()
        # Each is asked for one more than it has.
        self.assertEqual(firsts, [True, False, False, False] * 2)

    def test_it_passes_for_torch_s_of_the_script_s_own_setting_whatever_is_tried(self):
        for own, kind in ((0, _SingleProcessDataLoaderIter), (1, _MultiProcessingDataLoaderIter)):
            iterator = self.iterator(num_workers=own)
            self.ask(support.setting(2 + own))
            next(iterator)
            self.assertIsInstance(iterator, kind)
            self.assertEqual((len(iterator), iter(iterator)), (3, iterator))
            self.assertEqual(iterator._num_workers, 2 + own)
            self.assertRaises(NotImplementedError, pickle.dumps, iterator)
            self.assertFalse(hasattr(iterator, "__del__"))

    def test_after_its_last_batch_it_has_what_torch_s_has_and_of_tried_workers_nothing(self):
        iterator = self.iterator()
        list(iterator)
        self.assertEqual(iterator._num_workers, 0)
        iterator = self.iterator()
        self.ask(support.setting(1))
        list(iterator)
        self.assertFalse(hasattr(iterator, "_num_workers"))

    def test_workers_are_the_script_s_to_end_while_they_run_and_after_that_if_it_wants_them_to_persist(self):
        for persistent, is_left in ((True, True), (False, False)):
            iterator = self.iterator(num_workers=1, persistent_workers=persistent)
            torchs = iterator._inners[-1].iterator
            self.assertEqual(iterator._shutdown_workers, torchs._shutdown_workers)
            list(iterator)
            self.assertEqual(iterator._shutdown_workers == torchs._shutdown_workers, is_left)
            torchs._shutdown_workers()

    def test_a_return_to_the_script_s_own_setting_draws_no_random_number_of_the_loop_s(self):
        iterator = self.iterator(40, num_workers=1)
        self.ask(support.setting(2))
        next(iterator)
        before = torch.get_rng_state().tolist()
        self.ask(self.watched.own)
        next(iterator)
        self.assertTrue(iterator._inners[-1].is_own)
        self.assertEqual(torch.get_rng_state().tolist(), before)

    def test_a_failed_batch_is_made_again_only_if_batches_keep_their_order(self):
        for in_order in (True, False):
            iterator = self.iterator()
            iterator._loader.in_order = in_order
            self.ask(support.setting(1))
            next(iterator)
            failed = ValueError("a batch fails")
            self.assertIs(iterator._falls_back(iterator._inners[-1], failed), in_order)


class InterruptionTest(unittest.TestCase):
    def test_what_a_handler_has_raised_reaches_the_loop_once(self):
        own = OwnAgain()
        own._interruption = KeyError("of the handler")
        self.assertRaises(KeyError, own._pass_on)
        own._pass_on()

    def test_torch_s_handler_of_dead_workers_is_none_of_the_script_s(self):
        def fails(*_):
            raise RuntimeError("a worker died")

        for number, is_script_s in ((signal.SIGALRM, True), (signal.SIGCHLD, False)):
            before = signal.signal(number, fails)
            try:
                handlers.remember()
                fails()
            except RuntimeError as error:
                self.assertIs(handlers.has_raised(error), is_script_s)
            finally:
                signal.signal(number, before)
        handlers.remember()

    def test_a_handler_that_the_script_has_set_since_is_known_too(self):
        def fails(*_):
            raise RuntimeError("it rings")

        handlers.remember()
        before = signal.signal(signal.SIGALRM, fails)
        self.addCleanup(handlers.remember)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with self.assertRaises(RuntimeError):
            try:
                fails()
            except RuntimeError as error:
                self.assertTrue(handlers.has_raised(error))
                raise

    def test_how_a_worker_died_is_known_from_torch_if_nobody_else_knows_any_more(self):
        inner = types.SimpleNamespace(setting=support.setting(1), folder=None, worker_pids=lambda: [])
        said = RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed. ")
        self.assertIn("SIGKILL", failures.describe(said, inner, True)["message"])
