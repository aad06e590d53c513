"""Signal handlers of the script that raise errors while pinbench works."""

import functools
import itertools
import signal
import time
import unittest
from unittest import mock

import support
import torch
from hook_test import Heard
from torch.utils.data import DataLoader

from pinbench_live.judged.verdict import DISCARDED, HANDED, Verdict
from pinbench_live.live_iterator import LiveIterator
from pinbench_live.tried import deaths, handlers
from pinbench_live.tried.inner import Inner
from pinbench_live.watched import Watched


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


if __name__ == "__main__":
    unittest.main()
