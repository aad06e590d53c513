"""Random numbers that a sampler draws while it is asked for batches earlier than by the script's own setting."""

import collections
import random
import sys

import torch
from torch.utils.data import BatchSampler, RandomSampler

from .aside import is_harmless
from .probe import probe_module

generators = probe_module("generators")


class Ahead:
    """They are drawn from the script's generators when its own setting would draw them, if it comes so far: the loop
    may draw from these generators as well, or leave its epoch before.
    """

    def __init__(self, loader):
        sampler = loader._index_sampler
        self._random = sampler.sampler if type(sampler) is BatchSampler else sampler
        if type(self._random) is not RandomSampler or self._random.generator is None:
            self._random = None
        # As (number of the batch, how to look at a generator, how to set it, its state before, its state after).
        self._late = collections.deque()
        self._generators = []
        if not is_harmless(sampler):
            self._generators += [(torch.get_rng_state, torch.set_rng_state), (random.getstate, random.setstate)]
            if "numpy" in sys.modules:
                numbers = sys.modules["numpy"].random
                self._generators.append((numbers.get_state, numbers.set_state))
        for own in {id(each): each for each in (loader.generator, getattr(self._random, "generator", None))}.values():
            if own is not None and (self._random is not None or self._generators):
                self._generators.append((own.get_state, own.set_state))

    def draw(self, number, indices):
        """The next of `indices`, which are those of batch `number` of the epoch; leaves the generators as they were."""
        before = [look() for look, _ in self._generators]
        try:
            return next(indices)
        finally:
            for (look, put), old in zip(self._generators, before):
                new = look()
                if not generators.are_same(old, new):
                    put(old)
                    self._late.append((number, look, put, old, new))

    def catch_up(self, number):
        """The script's own setting would have asked for batch `number` by now."""
        while self._late and self._late[0][0] <= number:
            _, look, put, old, new = self._late.popleft()
            if generators.are_same(old, look()):
                put(new)
            elif self._random is not None and not self._random.replacement:
                # The loop has drawn meanwhile: torch draws a permutation at the end, and uses none of it.
                torch.randperm(len(self._random.data_source), generator=self._random.generator)
