"""Random numbers that a sampler draws while it is asked for batches earlier than by the script's own setting."""

import collections
import random

import torch
from torch.utils.data import BatchSampler, RandomSampler

from .judged.aside import is_harmless
from .probe import probe_module
from .tried import handlers

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
        # As (number of the batch, generator, its state before, its state after).
        self._late = collections.deque()
        # As (how to look at it, how to set it).
        self._generators = []
        if not is_harmless(sampler):
            self._generators += [(torch.get_rng_state, torch.set_rng_state), (random.getstate, random.setstate)]
            numbers = generators.of_numpy()
            if numbers is not None:
                self._generators.append((numbers.get_state, numbers.set_state))
        for own in {id(each): each for each in (loader.generator, getattr(self._random, "generator", None))}.values():
            if own is not None and (self._random is not None or self._generators):
                self._generators.append((own.get_state, own.set_state))

    def draw(self, number, indices):
        """The next of `indices`, which are those of batch `number` of the epoch; leaves the generators as they were."""
        found = self._guarded(self._go_on)
        try:
            return next(indices)
        finally:
            if found is not None:
                self._guarded(self._go_back, number, found)

    def _guarded(self, work, *arguments):
        """Errors of generators are not the sampler's: without them it draws early."""
        try:
            return work(*arguments)
        except Exception as error:
            if handlers.has_raised(error):
                raise
            self._generators = []
            self._late.clear()
            return None

    def _go_on(self):
        """Where the sampler has been asked ahead before, its generators go on from there. Returns the states found, and
        those set.
        """
        found = [look() for look, _ in self._generators]
        newest = {generator: new for _, generator, _, new in self._late}
        for generator, new in newest.items():
            self._generators[generator][1](new)
        return found, [newest.get(generator, state) for generator, state in enumerate(found)]

    def _go_back(self, number, states):
        for generator, (found, old) in enumerate(zip(*states)):
            look, put = self._generators[generator]
            new = look()
            if not generators.are_same(old, new):
                self._late.append((number, generator, old, new))
            if not generators.are_same(found, new):
                put(found)

    def catch_up(self, number):
        """The script's own setting would have asked for batch `number` by now."""
        while self._late and self._late[0][0] <= number:
            _, generator, old, new = self._late.popleft()
            look, put = self._generators[generator]
            if generators.are_same(old, look()):
                put(new)
            elif self._random is not None and not self._random.replacement:
                # The loop has drawn meanwhile: torch draws a permutation at the end, and uses none of it.
                torch.randperm(len(self._random.data_source), generator=self._random.generator)
