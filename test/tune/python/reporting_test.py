"""What the hook reports of a loader: its batches and changes, what they hold, and where its loop comes from."""

import types
import unittest
from unittest import mock

import support
import torch
from hook_test import Heard
from torch.utils.data import DataLoader, Dataset

from pinbench_live import facts, reporting
from pinbench_live.judged.verdict import DISCARDED, Verdict
from pinbench_live.probe import probe_module
from pinbench_live.reporting import Reporting
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
