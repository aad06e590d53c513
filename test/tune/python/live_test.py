"""The iterator of the loop: when requests are carried out, what is told of them, and what alarms of the script do."""

import functools
import itertools
import signal
import time
import types
import unittest
from unittest import mock

import support
import torch
from hook_test import Heard
from torch.utils.data import DataLoader, IterableDataset, RandomSampler

from pinbench_live import live_iterator
from pinbench_live.judged import evidence
from pinbench_live.judged.verdict import DISCARDED, HANDED, REFUSED, Verdict
from pinbench_live.live_iterator import LiveIterator
from pinbench_live.tried import deaths, handlers
from pinbench_live.tried.inner import Inner
from pinbench_live.watched import Watched


class Live(unittest.TestCase):
    """Its batches have two samples; without another verdict the loop gets those of any setting."""

    def iterator(self, length=6, verdict=Verdict(HANDED), **arguments):
        self.dataset = support.Numbers(length)
        self.loader = DataLoader(self.dataset, batch_size=2, **arguments)
        self.session = Heard()
        self.watched = Watched(self.loader, self.session, None)
        self.watched.verdict = verdict
        # Workers that persist end with their loader.
        self.addCleanup(self.watched.end)
        iterator = LiveIterator(self.loader, self.watched)
        self.addCleanup(lambda: [deaths.end(inner) for inner in iterator._inners])
        return iterator

    def ask(self, setting, change=7, at=0):
        asked = self.watched.asked = {"setting": setting, "change": change, "atBatch": at}
        return asked

    def told(self, kind, *fields):
        return [tuple(each[name] for name in fields) for each in self.session.all_of(kind)]


class EpochTest(Live):
    def test_a_request_is_carried_out_as_an_epoch_begins_if_its_time_has_come_and_its_batches_are_known_to_be_alike(
        self,
    ):
        for at, verdict, is_made in ((3, Verdict(HANDED), True), (4, Verdict(HANDED), False), (3, None, False)):
            iterator = self.iterator(verdict=verdict)
            list(iterator)
            # It comes between two epochs.
            self.session.obey = lambda: self.ask(support.setting(2), at=at) if self.watched.change == 0 else None
            iterator.begin()
            self.assertEqual((self.watched.change, self.watched.asked is None), (7, True) if is_made else (0, False))
            self.assertEqual(self.told("changed", "change", "atBatch"), [(7, 3)] if is_made else [])
            self.assertEqual(len(iterator._inners[-1].worker_pids()), 2 if is_made else 0)

    def test_workers_of_the_script_s_own_that_persist_go_on_after_an_epoch_that_was_left(self):
        iterator = self.iterator(num_workers=1, persistent_workers=True)
        pids = iterator._inners[-1].worker_pids()
        next(iterator)
        iterator.begin()
        self.assertEqual((iterator._inners[-1].worker_pids(), self.watched.is_new), (pids, False))
        self.assertEqual(support.numbers_of(iterator), [[0, 1], [2, 3], [4, 5]])

    def test_a_start_that_fails_as_an_epoch_begins_is_told_and_the_script_s_own_setting_takes_its_place(self):
        for workers in (0, 1):
            iterator = self.iterator(num_workers=workers)
            list(iterator)
            self.watched.setting, self.watched.change = support.setting(2), 7
            start = Inner.start

            def starts(inner, feed):
                if inner.change == 7:
                    raise AttributeError("Can't get attribute 'f'")
                start(inner, feed)

            with mock.patch.object(Inner, "start", starts):
                iterator.begin()
            self.assertEqual(self.told("failed", "change", "fault"), [(7, "not-picklable")])
            self.assertEqual((self.watched.setting, self.watched.change), (self.watched.own, 0))
            self.assertEqual(support.numbers_of(iterator), [[0, 1], [2, 3], [4, 5]])

    def test_a_shuffled_epoch_under_a_tried_setting_leaves_the_generator_as_the_script_s_own_would(self):
        for workers, persistent in ((0, False), (1, False), (1, True)):
            orders = []
            for tried in (None, support.setting(2)):
                own = torch.Generator().manual_seed(3)
                iterator = self.iterator(
                    shuffle=True, generator=own, num_workers=workers, persistent_workers=persistent
                )
                list(iterator)
                if tried is not None:
                    self.watched.setting, self.watched.change = tried, 7
                iterator.begin()
                orders.append((support.numbers_of(iterator), hash(bytes(own.get_state().tolist()))))
            self.assertEqual(orders[0], orders[1])

    def test_an_epoch_is_told_with_the_time_at_which_it_was_asked_for(self):
        clock = itertools.count(1000)
        with mock.patch.object(live_iterator, "time", types.SimpleNamespace(perf_counter_ns=lambda: next(clock))):
            self.iterator()
        self.assertEqual(self.told("epoch", "event", "ns"), [("begin", 1000)])

    def test_the_files_that_are_open_as_an_epoch_of_a_stream_begins_are_known_while_it_is_told_of(self):
        class Stream(IterableDataset):
            def __iter__(self):
                return iter(range(4))

        for dataset, is_told, known in (
            (Stream(), True, {"a": 1}),
            (Stream(), False, {}),
            (support.Numbers(4), True, {}),
        ):
            self.watched = Watched(DataLoader(dataset), Heard(), None)
            self.watched.is_told = is_told
            with mock.patch.object(live_iterator.open_files, "positions", return_value={"a": 1}):
                LiveIterator(DataLoader(dataset), self.watched)
            self.assertEqual(self.watched.files_at_epoch, known)


class TimeTest(Live):
    def test_steps_and_the_making_of_batches_are_in_seconds_and_a_trial_aside_is_no_step(self):
        iterator = self.iterator(length=40, verdict=Verdict(DISCARDED, "a reason"))
        seconds = itertools.count()
        gathering = self.watched.evidence = mock.Mock(verdict=None)
        self.watched.is_target = True
        with mock.patch.object(
            live_iterator, "time", types.SimpleNamespace(perf_counter_ns=lambda: next(seconds) * 10**9)
        ):
            for _ in range(3):
                next(iterator)
            self.assertEqual(list(self.watched.steps), [1, 1])
            self.assertEqual([call.args[2] for call in gathering.after.call_args_list], [1, 1, 1])
            asked = self.ask(support.setting(2))
            with mock.patch.object(live_iterator, "Aside") as aside:
                aside.return_value.run.return_value = {"fault": "hang"}
                next(iterator)
            aside.return_value.run.assert_called_once_with(asked, mock.ANY)
            self.assertEqual(list(aside.return_value.run.call_args.args[1])[:3], [[0, 1], [2, 3], [4, 5]])
        self.assertEqual(self.told("failed", "change", "fault"), [(7, "hang")])
        self.assertEqual(len(self.watched.steps), 3)
        # Of one that is no target, nothing is kept.
        iterator = self.iterator()
        next(iterator)
        self.assertEqual(list(iterator._seen), [])


class RequestTest(Live):
    def test_batches_are_told_under_the_change_that_made_them_and_a_change_as_its_workers_start(self):
        iterator = self.iterator(length=20, num_workers=1)
        next(iterator)
        self.ask(support.setting(2))
        list(iterator)
        changes = [change for (change, ns) in self.told("batches", "change", "ns") for _ in ns]
        # Two batches were ahead, and one on its way.
        self.assertEqual(changes, [0] * 3 + [7] * 7)
        self.assertEqual(self.told("changed", "change", "atBatch"), [(7, 1)])

    def test_a_setting_that_makes_batches_now_only_gets_another_number(self):
        iterator = self.iterator(length=40)
        self.ask(support.setting(2))
        for _ in range(2):
            next(iterator)
        tried = iterator._inners[-1]
        self.ask(support.setting(2), change=8)
        next(iterator)
        self.assertIs(iterator._inners[-1], tried)
        self.assertEqual((tried.change, self.watched.change), (8, 8))
        iterator._reporting.flush()
        changes = [change for (change, ns) in self.told("batches", "change", "ns") for _ in ns]
        self.assertEqual(changes, [7, 7, 8])

    def test_a_sampler_that_is_asked_ahead_has_drawn_by_each_batch_what_it_would_have_without(self):
        drawn = []
        for tried in (support.setting(0), support.setting(2)):
            own = torch.Generator().manual_seed(1)
            # It draws 32 numbers at a time.
            sampler = RandomSampler(range(80), replacement=True, generator=own)
            iterator = self.iterator(length=80, sampler=sampler)
            self.ask(tried)
            drawn.append([(batch.flatten().tolist(), hash(bytes(own.get_state().tolist()))) for batch in iterator])
        self.assertEqual(drawn[0], drawn[1])

    def test_pinbench_is_heard_before_each_batch_as_long_as_there_is_something_to_say_or_to_do(self):
        iterator = self.iterator(length=40)
        heard = []
        self.session.obey = lambda: heard.append(1)
        for is_told, asked, gathering, is_heard in (
            (True, None, None, True),
            (False, {"setting": self.watched.own, "change": 7, "atBatch": 99}, None, True),
            (False, None, mock.Mock(verdict=None), True),
            (False, None, None, False),
        ):
            heard.clear()
            self.watched.is_told, self.watched.asked, self.watched.evidence = is_told, asked, gathering
            next(iterator)
            self.assertEqual(heard, [1] if is_heard else [])

    def test_a_request_waits_for_evidence_that_is_being_gathered(self):
        iterator = self.iterator(verdict=None)
        gathering = self.watched.evidence = mock.Mock(verdict=None)
        self.watched.is_target = True
        asked = self.ask(support.setting(2))
        next(iterator)
        gathering.wait.assert_called_once_with(0.02)
        self.assertIs(self.watched.asked, asked)

    def test_a_setting_that_is_not_tried_is_told_once_with_the_best_reason_that_there_is(self):
        failure = {"fault": "worker-killed", "message": "It died.", "hint": None, "traceback": None}
        for own, verdict, setting, fault, message in (
            (0, Verdict(REFUSED, "a reason"), support.setting(2), "unsafe", "It is not tried: a reason."),
            (0, Verdict(REFUSED, "a reason", failure), support.setting(2), "worker-killed", "It died."),
            (1, Verdict(HANDED), support.setting(0), "unsafe", "It is not tried: %s." % evidence.IN_THIS_PROCESS),
        ):
            iterator = self.iterator(verdict=verdict, num_workers=own)
            self.ask(setting)
            list(iterator)
            self.assertEqual(self.told("failed", "change", "fault", "message"), [(7, fault, message)])

    def test_a_start_that_fails_within_an_epoch_is_told_and_nothing_changes(self):
        iterator = self.iterator()
        self.ask(support.setting(2))
        with mock.patch.object(
            Inner, "start", side_effect=AttributeError("Can't get attribute 'f'")
        ), mock.patch.object(deaths, "end") as end:
            next(iterator)
        end.assert_called_once()
        self.assertEqual(self.told("failed", "change", "fault"), [(7, "not-picklable")])
        self.assertEqual((len(iterator._inners), self.watched.change), (1, 0))

    def test_workers_that_hang_are_given_no_time_to_end_by_themselves_and_others_are(self):
        for error, has_time in ((deaths.TookTooLong(5), False), (RuntimeError("a batch fails"), True)):
            iterator = self.iterator(length=40)
            self.ask(support.setting(1))
            next(iterator)
            with mock.patch.object(deaths, "end", wraps=deaths.end) as end:
                self.assertTrue(iterator._falls_back(iterator._inners[-1], error))
            grace = self.watched.patience.grace() if has_time else 0
            self.assertEqual(end.call_args_list[0].args[1], grace)

    def test_the_deaths_of_workers_of_any_tried_setting_are_watched(self):
        with mock.patch.object(deaths, "watch") as watch:
            iterator = self.iterator(length=40)
            self.ask(support.setting(1))
            next(iterator)
            iterator.begin()
        self.assertEqual([call.args[0].change for call in watch.call_args_list], [7, 7])


class ChangesTest(Live):
    def under(self, setting, **arguments):
        iterator = self.iterator(length=40, **arguments)
        next(iterator)
        self.ask(setting)
        next(iterator)
        return iterator

    def test_workers_end_if_the_loop_changes_what_they_copy_and_no_batch_is_lost(self):
        for change in (lambda: setattr(self.dataset, "other", 1), lambda: setattr(self.loader.sampler, "seed", 5)):
            iterator = self.under(support.setting(2))
            change()
            got = support.numbers_of(iterator)
            self.assertEqual(got, [[n, n + 1] for n in range(4, 40, 2)])
            self.assertEqual(self.told("failed", "change", "fault"), [(7, "unsafe")])
            self.assertEqual(self.told("safety", "workers"), [(REFUSED,)])
            self.assertEqual((self.watched.setting, iterator._state), (self.watched.own, None))

    def test_what_a_sampler_changes_by_itself_is_none_of_the_loop_s_doing(self):
        class Counting:
            count = 0

            def __iter__(self):
                for index in range(40):
                    self.count = index
                    yield index

            def __len__(self):
                return 40

        iterator = self.under(support.setting(2), sampler=Counting())
        self.assertEqual(len(list(iterator)), 18)
        self.assertEqual(self.told("failed", "change"), [])

    def test_once_no_workers_are_left_the_loop_may_change_what_it_wants(self):
        iterator = self.under(support.setting(2))
        self.ask(self.watched.own, change=8)
        for _ in range(12):
            next(iterator)
        self.dataset.other = 1
        next(iterator)
        self.assertEqual(self.told("failed", "change"), [])
        self.assertIsNone(iterator._state)

    def test_workers_are_not_added_if_the_loop_has_changed_what_the_first_ones_had_copied(self):
        iterator = self.iterator(num_workers=1)
        next(iterator)
        self.dataset.other = 1
        self.ask(support.setting(2))
        next(iterator)
        self.assertEqual(self.told("failed", "change", "fault"), [(7, "unsafe")])
        self.watched.verdict = Verdict(HANDED, without_workers=True)
        self.ask(support.setting(0), change=8)
        next(iterator)
        self.assertEqual(self.told("changed", "change"), [(8,)])

    def test_workers_that_persist_by_a_tried_setting_alone_end_if_the_script_changes_what_they_have_copied(self):
        for is_changed in (False, True):
            iterator = self.under(support.setting(2, persistent=True), num_workers=1)
            list(iterator)
            iterator.begin()
            list(iterator)
            tried = self.watched._persisting
            if is_changed:
                self.dataset.other = 1
            iterator.begin()
            self.assertEqual(self.told("failed", "change", "fault"), [(7, "unsafe")] if is_changed else [])
            self.assertEqual((self.watched.change, tried.worker_pids() == []), (0, True) if is_changed else (7, False))
            self.assertEqual(support.numbers_of(iterator), [[n, n + 1] for n in range(0, 40, 2)])

    def test_after_a_failure_of_pinbench_s_own_nothing_is_looked_at_any_more(self):
        iterator = self.under(support.setting(2))
        self.assertIsNotNone(iterator._state)
        iterator._guarded(mock.Mock(side_effect=ValueError("it broke")))
        self.assertIsNone(iterator._state)
        self.assertIs(self.watched.is_untouched, True)


class Alarm(Exception):
    pass


class SlowAt(support.Numbers):
    """A worker takes its time for one sample."""

    def __getitem__(self, index):
        if index == 20 and torch.utils.data.get_worker_info() is not None:
            time.sleep(1)
        return super().__getitem__(index)


class AlarmTest(unittest.TestCase):
    """A script's alarm raises its error in whatever waits: a tried setting has not failed by it."""

    def setUp(self):
        def ring(*_):
            raise Alarm

        before = signal.signal(signal.SIGALRM, ring)
        self.addCleanup(signal.signal, signal.SIGALRM, before)

    def test_the_loop_gets_the_error_and_no_batch_is_lost(self):
        loader = DataLoader(SlowAt(40), batch_size=2)
        watched = Watched(loader, Heard(), None)
        watched.verdict = Verdict(HANDED)
        iterator = LiveIterator(loader, watched)
        got = [next(iterator)]
        watched.asked = {"setting": support.setting(1), "change": 1, "atBatch": 0}
        got += itertools.islice(iterator, 9)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        self.assertRaises(Alarm, list, iterator)
        self.assertEqual(support.numbers_of(got + list(iterator)), [[n, n + 1] for n in range(0, 40, 2)])
        self.assertEqual(watched.session.all_of("failed"), [])

    def test_what_pinbench_was_doing_it_does_at_the_next_batch(self):
        loader = DataLoader(support.Numbers(40), batch_size=2)
        watched = Watched(loader, Heard(), None)
        watched.is_target, watched.verdict = True, Verdict(DISCARDED, "a reason")
        iterator = LiveIterator(loader, watched)
        next(iterator)
        watched.steps.append(1)
        asked = watched.asked = {"setting": support.setting(1), "change": 1, "atBatch": 0}
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        self.assertRaises(Alarm, next, iterator)
        self.assertEqual((watched.asked, watched.is_untouched), (asked, False))

    def test_a_batch_that_it_ends_in_this_process_is_lost_only_where_torch_would_lose_it(self):
        every = [[n, n + 1] for n in range(0, 40, 2)]
        for error in (Alarm, KeyboardInterrupt):
            for own, tried, lost in ((0, 2, [[20, 21]]), (1, 0, [])):
                with self.subTest(error=error, own=own):
                    loader = DataLoader(Interrupted(40, error), batch_size=2, num_workers=own)
                    watched = Watched(loader, Heard(), None)
                    watched.verdict = Verdict(HANDED, without_workers=True)
                    iterator = LiveIterator(loader, watched)
                    self.addCleanup(lambda each=iterator: [deaths.end(inner) for inner in each._inners])
                    got = [next(iterator)]
                    asked = {"setting": support.setting(tried), "change": 1, "atBatch": 0}
                    watched.asked = None if own == 0 else asked
                    with self.assertRaises(error):
                        for batch in iterator:
                            got.append(batch)
                    if own == 0:
                        watched.asked = asked
                    self.assertEqual(support.numbers_of([*got, *iterator]), [each for each in every if each not in lost])
                    self.assertEqual(len(watched.session.all_of("changed")), 1)

    def test_it_is_found_in_whatever_form_its_handler_has(self):
        def ring(*_):
            raise Alarm

        def ring_once(number, _):
            signal.signal(number, signal.SIG_DFL)
            raise Alarm

        class Ringing:
            def __call__(self, *_):
                raise Alarm

            def ring(self, *_):
                raise Alarm

        for handler in (ring, ring_once, functools.partial(ring, 3), Ringing(), Ringing().ring, functools.partial(Ringing())):
            signal.signal(signal.SIGALRM, handler)
            handlers.remember()
            found = None
            try:
                signal.raise_signal(signal.SIGALRM)
            except Alarm as error:
                found = handlers.has_raised(error)
            self.assertTrue(found, handler)
        self.assertFalse(handlers.has_raised(Alarm()))

    def starting(self, loader, rings_at):
        """Its iterator with two workers, of which the start number `rings_at` is interrupted by an error that is an OSError."""

        def ring(*_):
            raise TimeoutError

        start, starts = Inner.start, itertools.count(1)

        def start_and_ring(inner, feed):
            start(inner, feed)
            if next(starts) == rings_at:
                signal.raise_signal(signal.SIGALRM)

        patch = mock.patch.object(Inner, "start", start_and_ring)
        patch.start()
        self.addCleanup(patch.stop)
        signal.signal(signal.SIGALRM, ring)
        watched = Watched(loader, Heard(), None)
        watched.setting, watched.change = support.setting(2), 1
        return watched, lambda: LiveIterator(loader, watched)

    def test_the_loop_gets_it_as_an_epoch_begins(self):
        watched, begin = self.starting(DataLoader(support.Numbers(40), batch_size=2), 1)
        self.assertRaises(TimeoutError, begin)
        self.assertEqual(support.numbers_of(begin()), [[n, n + 1] for n in range(0, 40, 2)])
        self.assertEqual(watched.session.all_of("failed"), [])

    def test_the_loop_gets_it_while_the_script_s_own_setting_starts_again(self):
        for is_refused in (False, True):
            watched, begin = self.starting(DataLoader(support.Numbers(40), batch_size=2, num_workers=1), 2)
            iterator = begin()
            got = [next(iterator)]
            if is_refused:
                self.assertRaises(TimeoutError, iterator._refuse, "a reason")
            else:
                for worker in iterator._inners[0].workers():
                    worker.kill()
                    worker.join()
                with self.assertRaises(TimeoutError):
                    got.extend(iterator)
            self.assertEqual(len(iterator._inners[0].worker_pids()), 1)
            self.assertEqual(support.numbers_of([*got, *iterator]), [[n, n + 1] for n in range(0, 40, 2)])
            self.assertEqual(len(watched.session.all_of("failed")), 1)


class Interrupted(support.Numbers):
    """A signal comes while sample 20 is made for the first time in this process, or something raises what no loop expects."""

    def __init__(self, length, error):
        super().__init__(length)
        self.error = error

    def __getitem__(self, index):
        error = self.error
        if index == 20 and error is not None and torch.utils.data.get_worker_info() is None:
            self.error = None
            if error is not Alarm:
                raise error
            signal.raise_signal(signal.SIGALRM)
        return super().__getitem__(index)
