"""The values in a batch: a bounded number of tensors, arrays and plain values."""

import array
import collections.abc
import itertools

import torch

PLAIN = (str, bytes, bytearray, memoryview, range, array.array, int, float, complex, bool, type(None))
# Values inspected in a list of plain ones.
MOST_VALUES = 8192
# Number of plain values at the start of a list after which it is assumed to hold nothing else.
_TELLING = 64
_DEEPEST = 8


def is_array(value):
    """Whether it is a tensor, or a NumPy array (NumPy may be missing)."""
    return isinstance(value, torch.Tensor) or type(value).__module__ == "numpy" and hasattr(value, "tobytes")


def is_plain_list(values):
    """Whether a sequence holds only plain values, judged by its first ones."""
    return all(isinstance(item, PLAIN) for item in itertools.islice(values, _TELLING))


def leaves(value, most):
    """Yields at most this many leaves of a batch, in order: arrays, plain values, and lists of plain values. For an
    object without any, its type.
    """
    return itertools.islice(_walk(value, 0), most)


def _walk(value, depth):
    if is_array(value) or isinstance(value, PLAIN):
        yield value
    elif depth > _DEEPEST:
        yield type(value)
    elif isinstance(value, collections.abc.Mapping):
        for item in value.values():
            yield from _walk(item, depth + 1)
    elif isinstance(value, collections.abc.Sequence) and is_plain_list(value):
        yield list(itertools.islice(value, MOST_VALUES))
    elif isinstance(value, collections.abc.Sequence):
        for item in value:
            yield from _walk(item, depth + 1)
    elif getattr(value, "__dict__", None):
        for item in list(value.__dict__.values()):
            yield from _walk(item, depth + 1)
    else:
        yield type(value)
