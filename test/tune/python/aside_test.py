"""Trials whose batches are discarded, and the comparison of a worker's batches with the script's own."""

import gc
import itertools
import random
import sys
import time
import types
import unittest
import weakref
from unittest import mock

import support
import torch
from hook_test import Heard
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler, SequentialSampler

from pinbench_live.ahead import Ahead
from pinbench_live.judged import aside, comparison
from pinbench_live.judged.aside import Aside, is_harmless, step_seconds
from pinbench_live.judged.comparison import Comparison, digest
from pinbench_live.live_iterator import LiveIterator
from pinbench_live.patience import Patience
from pinbench_live.probe import probe_module
from pinbench_live.reporting import Reporting
from pinbench_live.tried import deaths, failures
from pinbench_live.tried.inner import Inner
from pinbench_live.watched import Watched


class Stream(IterableDataset):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        return iter(range(self.length))


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
        kept = aside.lists_kept()
        kept.extend([[n] for n in range(1000)])
        self.assertEqual((kept[-1], kept[-100], len(kept) < 1000), ([999], [900], True))

    def trial(self, loader=None, steps=(), after=None, then=None):
        """What is told of a trial whose batches are discarded; `then` happens to the loader after so many looks."""
        loader = DataLoader(support.Numbers(4), batch_size=2) if loader is None else loader
        session = Heard()
        watched = Watched(loader, session, None)
        watched.is_target = True
        watched.steps.extend(steps)
        looks = itertools.count(1)

        def obey():
            if next(looks) == after:
                vars(watched).update(then)

        session.obey = obey
        began = time.monotonic()
        with mock.patch.object(aside, "_MOST_SECONDS", 0.5):
            failed = Aside(loader, watched, Reporting(watched)).run(
                {"setting": support.setting(0), "change": 7, "atBatch": 0}, []
            )
        self.assertIsNone(failed)
        return session, time.monotonic() - began

    def test_batches_of_a_trial_aside_are_told_as_discarded_and_the_loop_is_not_held_for_longer_than_a_limit(self):
        session, seconds = self.trial(steps=[0.02])
        self.assertEqual([each["change"] for each in session.all_of("changed")], [7])
        told = session.all_of("batches")
        self.assertEqual({(each["change"], each["discarded"]) for each in told}, {(7, True)})
        self.assertGreater(seconds, 0.5)
        # With a step between two batches.
        self.assertLess(sum(len(each["ns"]) for each in told), 27)

    def test_a_trial_aside_ends_in_the_middle_of_a_long_step_if_pinbench_asks_for_something_else(self):
        asked = {"setting": support.setting(1), "change": 8, "atBatch": 0}
        _, seconds = self.trial(steps=[60], after=3, then={"asked": asked})
        self.assertLess(seconds, 30)

    def test_a_trial_aside_leaves_the_random_numbers_that_the_loop_draws_next(self):
        own = torch.Generator().manual_seed(3)

        def states():
            return torch.get_rng_state().tolist(), random.getstate(), own.get_state().tolist()

        before = states()
        sampler = RandomSampler(range(4), generator=own)
        for loader in (
            DataLoader(Random(4), batch_size=2, shuffle=True, generator=own),
            DataLoader(Random(4), batch_size=2, sampler=sampler),
            DataLoader(Random(4), batch_size=None, sampler=sampler),
        ):
            self.trial(loader, after=3, then={"is_target": False})
            self.assertEqual(states(), before)

    def test_a_trial_aside_of_short_steps_ends_after_the_batch_at_which_pinbench_asks_for_something_else(self):
        session, _ = self.trial(after=3, then={"is_target": False})
        self.assertEqual(sum(len(each["ns"]) for each in session.all_of("batches")), 3)

    def test_a_stream_begins_anew_aside_unless_it_is_empty(self):
        for length, batches in ((4, 7), (0, 0)):
            start, starts = aside.Inner.start, []
            with mock.patch.object(aside.Inner, "start", lambda *of: starts.append(1) or start(*of)):
                session, _ = self.trial(DataLoader(Stream(length), batch_size=2), after=7, then={"is_target": False})
            self.assertEqual(sum(len(each["ns"]) for each in session.all_of("batches")), batches)
            self.assertEqual(len(starts), 4 if length > 0 else 1)

    def test_the_first_batch_aside_is_waited_for_longer_and_all_are_told_before_the_workers_end(self):
        loader = DataLoader(support.Numbers(4), batch_size=2)
        watched, reporting = Watched(loader, Heard(), None), mock.Mock()
        watched.patience.started(10)
        seconds, ended = [], []

        def next_of(inner, limit):
            seconds.append(limit)
            inner.has_begun = True
            if len(seconds) == 2:
                raise KeyError("a batch fails")

        watched.is_target = True
        asked = {"setting": support.setting(0), "change": 7}
        with mock.patch.object(deaths, "next_of", next_of), mock.patch.object(
            deaths, "end", lambda *_: ended.append(reporting.flush.called)
        ), mock.patch.object(deaths, "watch") as watch:
            told = Aside(loader, watched, reporting).run(asked, [])
        watch.assert_called_once()
        with mock.patch.object(aside.Inner, "start", side_effect=AttributeError("Can't get attribute 'f'")):
            self.assertEqual(Aside(loader, watched, reporting).run(asked, [])["fault"], "not-picklable")
        self.assertEqual(seconds, [watched.patience.seconds(0, is_first) for is_first in (True, False)])
        self.assertEqual((told["fault"], ended), ("dataset-raised", [True]))

    def test_only_samplers_of_torch_s_own_are_asked_for_further_epochs(self):
        data = range(4)
        for sampler, expected in (
            (SequentialSampler(data), True),
            (BatchSampler(RandomSampler(data), 2, False), True),
            (BatchSampler([0, 1], 2, False), False),
            ([0, 1], False),
        ):
            self.assertIs(is_harmless(sampler), expected)

    def test_workers_of_a_trial_aside_that_hang_are_given_no_time_to_end_by_themselves_and_others_are(self):
        for error, grace in ((deaths.TookTooLong(5), 0), (RuntimeError("a batch fails"), Patience().grace())):
            loader = DataLoader(support.Numbers(4), batch_size=2)
            watched = Watched(loader, Heard(), None)
            asked = {"setting": support.setting(0), "change": 7, "atBatch": 0}
            with mock.patch.object(deaths, "next_of", side_effect=error), mock.patch.object(deaths, "end") as end:
                self.assertIsNotNone(Aside(loader, watched, Reporting(watched)).run(asked, []))
            end.assert_called_once_with(mock.ANY, grace)


class Random(support.Numbers):
    """Draws from each generator of the process."""

    def __getitem__(self, index):
        torch.rand(1)
        random.random()
        return super().__getitem__(index)


class ComparisonTest(unittest.TestCase):
    """With workers that are played."""

    def setUp(self):
        self.watched = Watched(DataLoader(support.Numbers(8)), Heard(), None)
        self.inner = mock.Mock(folder="/nowhere")
        self.inner.worker_pids.return_value = [5]
        self.inner.iterator._data_queue.empty.return_value = False
        self.described = mock.Mock(return_value={"fault": "told"})
        for of, name, value in (
            (comparison, "Inner", mock.Mock(return_value=self.inner)),
            (deaths, "watch", mock.Mock()),
            (deaths, "end", mock.Mock()),
            (deaths, "exit_code", lambda _: None),
            (failures, "describe", self.described),
        ):
            patched = mock.patch.object(of, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def compared(self, drawn=((0,), (1,))):
        return Comparison(DataLoader(support.Numbers(8)), self.watched, list(drawn))

    def test_workers_that_are_not_forked_have_longer_to_start(self):
        seconds = []
        for is_fork in (True, False):
            with mock.patch.object(comparison, "forks", return_value=is_fork):
                seconds.append(self.compared()._seconds)
        self.assertEqual((seconds[1] - seconds[0], seconds[0]), (25, self.watched.patience.seconds(1, True)))

    def test_a_start_that_fails_is_told_as_one_and_is_over(self):
        self.inner.start.side_effect = ValueError("it broke")
        self.inner.worker_pids.return_value = []
        compared = self.compared()
        self.assertEqual((compared.failure, compared.poll()), ({"fault": "told"}, True))
        self.assertIs(self.described.call_args.kwargs["has_started"], False)
        deaths.end.assert_called_once_with(self.inner, 1)

    def test_it_is_over_once_all_batches_have_come_or_no_more_come(self):
        for batches in ([1, 2], [1, StopIteration()]):
            deaths.end.reset_mock()
            with mock.patch.object(deaths, "next_of", side_effect=batches):
                compared = self.compared()
                self.assertTrue(compared.poll())
            # They are made in the opposite order.
            self.assertEqual(compared.digests, [digest(each) for each in reversed(batches) if isinstance(each, int)])
            deaths.end.assert_called_once_with(self.inner, 1)
            self.assertTrue(compared.poll())

    def test_a_worker_that_dies_or_hangs_has_failed_and_one_that_hangs_has_no_time_to_end(self):
        self.inner.iterator._data_queue.empty.return_value = True
        for exit_code, limit, error, grace in ((7, 60, deaths.WorkerDied, 1), (None, -1, deaths.TookTooLong, 0)):
            deaths.end.reset_mock()
            compared = self.compared()
            compared._seconds = limit
            with mock.patch.object(deaths, "exit_code", lambda _: exit_code), mock.patch.object(
                deaths, "next_of", side_effect=deaths.WorkerDied("it died")
            ):
                self.assertTrue(compared.poll())
            self.assertIsInstance(self.described.call_args.args[0], error)
            self.assertIs(self.described.call_args.kwargs["has_started"], True)
            deaths.end.assert_called_once_with(self.inner, grace)

    def test_what_a_handler_of_the_script_raises_is_no_failure_of_the_worker(self):
        compared = self.compared()
        with mock.patch.object(deaths, "next_of", side_effect=KeyError("an alarm")), mock.patch.object(
            comparison.handlers, "has_raised", return_value=True
        ):
            self.assertRaises(KeyError, compared.poll)
        self.assertIsNone(compared.failure)

    def test_the_loop_is_held_no_longer_than_it_may_be(self):
        self.inner.iterator._data_queue.empty.return_value = True
        compared = self.compared()
        compared.wait(0.01)
        self.assertEqual((compared._got, compared.failure), ([], None))

    def test_of_a_stream_it_is_concluded_how_many_workers_made_the_same(self):
        self.inner.worker_pids.return_value = [5, 6]
        with mock.patch.object(deaths, "next_of", side_effect=range(6)), mock.patch.object(
            comparison.sharding, "sample_copies", lambda folder, pids: (folder, pids)
        ), mock.patch.object(comparison.worker_records, "take", lambda path: path):
            compared = Comparison(DataLoader(Stream(8)), self.watched, [None] * 3)
            self.assertTrue(compared.poll())
        self.assertEqual((compared.sample_copies, compared.seen), (("/nowhere", [5, 6]), "/nowhere/observed-5.json"))


class StreamTest(unittest.TestCase):
    def test_of_a_stream_two_workers_show_whether_they_make_the_same(self):
        loader = DataLoader(Stream(400), batch_size=8)
        compared = Comparison(loader, Watched(loader, Heard(), None), [None] * 3)
        self.addCleanup(compared.end)
        self.assertEqual((len(compared._inner.worker_pids()), compared._batches), (2, 6))


class DigestTest(unittest.TestCase):
    def test_whatever_differs_in_a_batch_has_another_digest(self):
        class Own:
            __slots__ = ()

        alike = [torch.zeros(4), torch.zeros(2, 2), "1", 1, True, b"1", None, [1, 2], [1, 3], object(), Own()]
        self.assertEqual(len({digest([each]) for each in alike}), len(alike))
        self.assertNotEqual(digest("1"), digest(1))
        try:
            import numpy
        except ImportError:
            return
        arrays = [numpy.zeros(4), numpy.zeros((2, 2)), numpy.zeros(4, dtype="int64"), numpy.ones(4)]
        self.assertEqual(len({digest(each) for each in arrays}), 4)

    def test_a_tensor_is_compared_by_its_values_however_it_is_kept(self):
        values = torch.tensor([1 + 2j, 3 - 4j])
        self.assertEqual(digest(values.conj()), digest(values.conj().resolve_conj()))
        self.assertEqual(digest(values.conj().imag), digest(-values.imag))
        self.assertEqual(digest(torch.zeros(4, 4)[:, 1]), digest(torch.zeros(4)))
        # These have no memory of values one after the other.
        digest(
            [
                torch.zeros(2, 2).to_sparse(),
                torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.qint8),
                torch.zeros(2, device="meta"),
            ]
        )

    def test_of_very_long_values_the_beginnings_are_compared(self):
        with mock.patch.object(comparison, "_MOST_BYTES", 4):
            for one, other, is_same in (
                (b"abcdef", b"abcdeg", True),
                (b"abc", b"abd", False),
                (["abcd", "efgh"], ["abcd", "efgi"], True),
            ):
                self.assertIs(digest(one) == digest(other), is_same)

    def test_a_type_whose_objects_cannot_be_compared_is_named(self):
        self.assertEqual(comparison.opaque([1, {"a": object()}]), "object")
        self.assertIsNone(comparison.opaque([1, torch.zeros(1)]))


generators = probe_module("generators")


class Failing:
    def __iter__(self):
        yield [0, 1]
        raise ValueError("the sampler is broken")


class FailingTest(unittest.TestCase):
    def test_workers_end_at_once_if_it_fails_as_an_epoch_begins(self):
        loader = DataLoader(support.Numbers(6), batch_sampler=Failing(), num_workers=1)
        watched = Watched(loader, Heard(), None)
        watched.setting, watched.change = support.setting(2), 1
        start, started = Inner.start, []

        def starts(inner, feed):
            start(inner, feed)
            started.append((weakref.ref(inner), inner.workers()))

        gc.disable()
        self.addCleanup(gc.enable)
        with mock.patch.object(Inner, "start", starts):
            try:
                LiveIterator(loader, watched)
                self.fail("its error is lost")
            except ValueError:
                self.assertEqual([worker.is_alive() for worker in started[0][1]], [False, False])
        self.assertIsNone(started[0][0]())


class AheadTest(unittest.TestCase):
    """With a sampler of the script's own, whose random numbers may come from anywhere."""

    def setUp(self):
        self.loader = DataLoader(support.Numbers(6), batch_sampler=Reversed([[0, 1], [2, 3], [4, 5]]))
        self.watched = Watched(self.loader, Heard(), None)

    def batches(self):
        return support.numbers_of(LiveIterator(self.loader, self.watched))

    def test_something_else_in_the_place_of_numpy_does_no_harm(self):
        for module in (None, types.ModuleType("numpy"), types.SimpleNamespace(random=None)):
            with mock.patch.dict(sys.modules, numpy=module), generators.kept():
                self.assertEqual(self.batches(), [[4, 5], [2, 3], [0, 1]])
            self.assertFalse(self.watched.is_untouched)

    def test_an_error_about_generators_is_neither_the_loop_s_nor_the_sampler_s(self):
        with mock.patch("pinbench_live.ahead.is_harmless", side_effect=ValueError("it broke")):
            self.assertEqual(self.batches(), [[4, 5], [2, 3], [0, 1]])
        own = self.loader.generator = mock.Mock(spec=["get_state", "set_state"])
        own.get_state.side_effect = ValueError("it broke")
        ahead, indices = Ahead(self.loader), iter("ab")
        self.assertEqual([ahead.draw(number, indices) for number in (1, 2)], ["a", "b"])
        ahead.catch_up(2)


class Drawing(list):
    """Its own sampler, which draws from one generator with each batch."""

    def __init__(self, draw):
        super().__init__([[0, 1], [2, 3], [4, 5]])
        self.draw = draw

    def __iter__(self):
        for batch in list.__iter__(self):
            self.draw()
            yield batch


class AheadOfAnySamplerTest(unittest.TestCase):
    """Asked for all batches ahead, a sampler has drawn nothing of the loop's until these are caught up with."""

    def setUp(self):
        self.own = torch.Generator().manual_seed(1)
        kept = generators.kept(self.own)
        kept.__enter__()
        self.addCleanup(kept.__exit__, None, None, None)

    def states(self):
        return generators.states(self.own)

    def assertStates(self, expected):
        self.assertFalse(generators.have_moved(self.states(), expected))

    def ahead(self, loader, batches=3):
        ahead, indices = Ahead(loader), iter(loader._index_sampler)
        return ahead, [ahead.draw(number, indices) for number in range(1, batches + 1)]

    def loaders(self):
        data, other = support.Numbers(6), torch.Generator().manual_seed(2)
        numbers = generators.of_numpy()
        yield DataLoader(data, batch_size=2, shuffle=True, generator=self.own)
        yield DataLoader(data, batch_size=None, shuffle=True, generator=self.own)
        yield DataLoader(data, batch_size=2, sampler=RandomSampler(data, generator=self.own), generator=other)
        for draw in (lambda: torch.rand(1), random.random, *([] if numbers is None else [numbers.random_sample])):
            yield DataLoader(data, batch_sampler=Drawing(draw))
        yield DataLoader(data, batch_sampler=Drawing(lambda: torch.rand(1, generator=self.own)), generator=self.own)

    def test_whichever_generator_it_draws_from(self):
        for loader in self.loaders():
            before = self.states()
            with generators.kept(self.own):
                plain = list(itertools.islice(loader._index_sampler, 3))
                after = self.states()
            self.assertTrue(generators.have_moved(before, after))
            ahead, batches = self.ahead(loader)
            self.assertEqual(batches, plain)
            self.assertStates(before)
            ahead.catch_up(0)
            self.assertStates(before)
            ahead.catch_up(3)
            self.assertStates(after)

    def test_what_the_loop_has_drawn_meanwhile_is_not_undone(self):
        data = support.Numbers(6)
        for sampler, then in (
            (RandomSampler(data, generator=self.own), lambda: torch.randperm(6, generator=self.own)),
            (RandomSampler(data, replacement=True, generator=self.own), lambda: None),
            (Drawing(lambda: torch.rand(1, generator=self.own)), lambda: None),
        ):
            ahead, _ = self.ahead(types.SimpleNamespace(_index_sampler=sampler, generator=self.own), batches=1)
            torch.rand(1, generator=self.own)
            with generators.kept(self.own):
                then()
                expected = self.states()
            ahead.catch_up(1)
            self.assertStates(expected)

    def test_after_an_error_about_generators_nothing_is_caught_up_with_and_a_handler_s_own_goes_on(self):
        ahead, _ = self.ahead(DataLoader(support.Numbers(6), batch_sampler=Drawing(lambda: torch.rand(1))), batches=1)
        with mock.patch.object(ahead, "_go_on", side_effect=ValueError("it broke")):
            self.assertEqual(ahead.draw(2, iter("a")), "a")
            ahead.catch_up(2)
            with mock.patch("pinbench_live.ahead.handlers.has_raised", return_value=True):
                self.assertRaises(ValueError, ahead.draw, 3, iter("b"))


class Reversed(list):
    def __iter__(self):
        return reversed(self)
