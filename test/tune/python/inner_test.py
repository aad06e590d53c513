"""What starting and ending a tried setting leaves as it was, and what it does if something fails."""

import gc
import types
import unittest
import warnings
from unittest import mock

import support
from torch.utils.data import DataLoader

from pinbench_live.tried import deaths
from pinbench_live.tried.feed import Feed
from pinbench_live.tried.inner import Inner


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


if __name__ == "__main__":
    unittest.main()
