"""The random generators of a process: torch's, Python's, and NumPy's if it is loaded."""

import contextlib
import random
import sys

import torch


def states(*own):
    """A value that changes if any of them is drawn from; `own` are further torch generators."""
    numbers = of_numpy()
    return (
        torch.get_rng_state(),
        random.getstate(),
        None if numbers is None else numbers.get_state(),
        *(each.get_state() for each in own),
    )


def of_numpy():
    """The module with NumPy's generator; None if NumPy is not loaded, or something else is in its place."""
    numbers = getattr(sys.modules.get("numpy"), "random", None)
    return numbers if hasattr(numbers, "get_state") else None


def have_moved(before, after):
    return not all(are_same(one, other) for one, other in zip(before, after))


def are_same(one, other):
    """Whether two states of one generator are equal."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if one is None or other is None:
        return one is other
    # NumPy's state has an array as its second part.
    return all(bytes(a) == bytes(b) if hasattr(a, "tobytes") else a == b for a, b in zip(one, other))


@contextlib.contextmanager
def kept(*own):
    """Keeps draws within it from changing them."""
    before, numbers = states(*own), of_numpy()
    try:
        yield
    finally:
        torch.set_rng_state(before[0])
        random.setstate(before[1])
        if before[2] is not None:
            numbers.set_state(before[2])
        for each, state in zip(own, before[3:]):
            each.set_state(state)
