"""The contents of a batch, copying it, and fingerprints of its values."""

import array
import collections.abc
import hashlib
import itertools

import torch

_PLAIN = (str, bytes, bytearray, memoryview, range, array.array, int, float, complex, bool, type(None))
# Limits, because objects may refer to each other endlessly: visited objects, depth, and compared values of each.
_MOST_NODES, _DEEPEST, _MOST_VALUES = 100_000, 8, 8192


def _nodes(value):
    """Yields (object, name of the enclosing type that torch cannot pin, or None) for each object in a batch."""
    return itertools.islice(_walk(value, None, 0), _MOST_NODES)


def _walk(value, holder, depth):
    yield value, holder
    if depth > _DEEPEST or isinstance(value, _PLAIN) or _is_array(value):
        return
    if isinstance(value, collections.abc.Mapping):
        items = value.values()
    elif isinstance(value, collections.abc.Sequence):
        items = value
    else:
        items = list(getattr(value, "__dict__", {}).values())
        if not hasattr(value, "pin_memory"):
            holder = holder or type(value).__name__
    for item in items:
        yield from _walk(item, holder, depth + 1)


def _is_array(value):
    """Whether it is a tensor or a NumPy array. NumPy may be missing."""
    return isinstance(value, torch.Tensor) or type(value).__module__ == "numpy" and hasattr(value, "tobytes")


class Contents:
    """The tensors of one batch, as torch's own pin_memory() sees them."""

    def __init__(self, batch):
        self.tensors = []
        # Names of types that hold tensors but cannot be pinned by torch or by themselves.
        self.unpinnable = []
        self.can_pin = False
        try:
            for value, holder in _nodes(batch):
                if isinstance(value, torch.Tensor):
                    self.tensors.append(value)
                    self.can_pin |= holder is None
                    if holder is not None and holder not in self.unpinnable:
                        self.unpinnable.append(holder)
        except Exception:
            pass  # the user's own type may forbid inspection
        self.bytes = sum(tensor.element_size() * tensor.nelement() for tensor in self.tensors)

    @property
    def devices(self):
        return sorted({tensor.device.type for tensor in self.tensors})

    def description(self):
        parts = ["%s %s" % (str(t.dtype).replace("torch.", ""), list(t.shape)) for t in self.tensors[:6]]
        more = len(self.tensors) - 6
        return " + ".join(parts + (["%d more" % more] if more > 0 else [])) or "no tensors"

    def first_length(self):
        return next((len(tensor) for tensor in self.tensors if tensor.dim() > 0), 1)


def copy(batch, device, non_blocking):
    """Copies a batch to the device: everything with a `.to()`, in the same containers; the rest is unchanged."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=non_blocking)
    if isinstance(batch, _PLAIN):
        return batch
    if hasattr(batch, "to"):
        try:
            return batch.to(device, non_blocking=non_blocking)
        except TypeError:
            return batch.to(device)
    if isinstance(batch, collections.abc.Mapping):
        return _like(batch, {key: copy(value, device, non_blocking) for key, value in batch.items()})
    if isinstance(batch, collections.abc.Sequence):
        return _like(batch, [copy(value, device, non_blocking) for value in batch])
    return batch


def _like(container, items):
    """Returns the items in a container of the same type; the bare items if that fails."""
    try:
        # A named tuple takes each item as an argument.
        return type(container)(*items) if hasattr(container, "_fields") else type(container)(items)
    except Exception:
        return items


def fingerprint(value):
    """[number of values, digest] for each array in a batch or sample, and one for all its plain values."""
    parts, plain = [], []
    for node, _ in _nodes(value):
        if _is_array(node):
            parts.append(node.reshape(-1)[:_MOST_VALUES].tolist())
        elif isinstance(node, _PLAIN) and len(plain) < _MOST_VALUES:
            plain.append(node)
    return [[len(values), _digest(values)] for values in [*parts, plain] if values]


def _digest(values):
    return hashlib.blake2b(repr(values).encode(errors="replace"), digest_size=16).hexdigest()
