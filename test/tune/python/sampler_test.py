"""Samplers of the script that fail, or that draw random numbers while they are asked ahead."""

import gc
import itertools
import random
import sys
import types
import unittest
import weakref
from unittest import mock

import support
import torch
from hook_test import Heard
from torch.utils.data import DataLoader, RandomSampler

from pinbench_live.ahead import Ahead
from pinbench_live.live_iterator import LiveIterator
from pinbench_live.probe import probe_module
from pinbench_live.tried.inner import Inner
from pinbench_live.watched import Watched

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


if __name__ == "__main__":
    unittest.main()
