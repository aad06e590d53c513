"""Samplers of the script that fail, or that draw random numbers while they are asked ahead."""

import gc
import unittest
import weakref
from unittest import mock

import support
from hook_test import Heard
from torch.utils.data import DataLoader

from pinbench_live.inner import Inner
from pinbench_live.live_iterator import LiveIterator
from pinbench_live.watched import Watched


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


if __name__ == "__main__":
    unittest.main()
