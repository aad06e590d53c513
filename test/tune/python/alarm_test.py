"""Signal handlers of the script that raise errors while pinbench works."""

import itertools
import signal
import time
import unittest

import support
import torch
from hook_test import Heard
from torch.utils.data import DataLoader

from pinbench_live.live_iterator import LiveIterator
from pinbench_live.verdict import DISCARDED, HANDED, Verdict
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


if __name__ == "__main__":
    unittest.main()
