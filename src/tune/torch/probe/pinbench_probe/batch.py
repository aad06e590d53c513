"""The contents of a batch, and copying it."""

import collections.abc

import torch

from .leaves import PLAIN, is_plain_list

# Most tensors of a batch that are inspected, and most other objects: a graph of objects may be endless.
_MOST_TENSORS, _MOST_OTHERS = 100_000, 2000


class Contents:
    """The contents of one batch, as torch's own pin_memory() and a training script's `.to()` see them."""

    def __init__(self, batch):
        self.tensors = []
        # Names of types with tensors that neither torch nor the type itself can pin, or copy.
        self.unpinnable = []
        self.uncopyable = []
        self._pinnable = 0
        # Kept by id, so that no other object gets the same id.
        self._seen = {}
        self._others = 0
        self._visit(batch, True, True, 0)
        del self._seen
        self.bytes = sum(tensor.element_size() * tensor.nelement() for tensor in self.tensors)

    @property
    def can_pin(self):
        """Whether torch pins some of its tensors."""
        return self._pinnable > 0

    @property
    def devices(self):
        return sorted({tensor.device.type for tensor in self.tensors})

    def description(self):
        parts = ["%s %s" % (str(t.dtype).replace("torch.", ""), list(t.shape)) for t in self.tensors[:6]]
        more = len(self.tensors) - 6
        return " + ".join(parts + (["%d more" % more] if more > 0 else [])) or "no tensors"

    def first_length(self):
        return next((len(tensor) for tensor in self.tensors if tensor.dim() > 0), 1)

    @property
    def _is_enough(self):
        return len(self.tensors) >= _MOST_TENSORS or self._others >= _MOST_OTHERS

    def _visit(self, value, pins, copies, depth):
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
            self._pinnable += pins
            return
        if isinstance(value, PLAIN) or depth > 8 or id(value) in self._seen or self._is_enough:
            return
        self._others += 1
        self._seen[id(value)] = value
        try:
            if isinstance(value, collections.abc.Mapping):
                self._visit_all(value.values(), pins, copies, depth)
            elif not isinstance(value, collections.abc.Sequence):
                self._visit_object(value, pins, copies, depth)
            elif not is_plain_list(value):
                self._visit_all(value, pins, copies, depth)
        except Exception:
            pass  # the user's own type, which may forbid inspection

    def _visit_all(self, values, pins, copies, depth):
        for item in values:
            if self._is_enough:
                return
            self._visit(item, pins, copies, depth + 1)

    def _visit_object(self, value, pins, copies, depth):
        before = len(self.tensors)
        can_pin, can_copy = hasattr(value, "pin_memory"), hasattr(value, "to")
        self._visit_all(list(getattr(value, "__dict__", {}).values()), pins and can_pin, copies and can_copy, depth)
        if len(self.tensors) == before:
            return
        name = type(value).__name__
        if pins and not can_pin and name not in self.unpinnable:
            self.unpinnable.append(name)
        if copies and not can_copy and name not in self.uncopyable:
            self.uncopyable.append(name)


def copy(batch, device, non_blocking):
    """The batch on the device: everything with a `.to()`, in the same containers; the rest is unchanged."""
    if isinstance(batch, (str, bytes, int, float, type(None))):
        return batch
    if hasattr(batch, "to"):
        return _to(batch, device, non_blocking)
    if isinstance(batch, collections.abc.Mapping):
        return _like(batch, {key: copy(value, device, non_blocking) for key, value in batch.items()})
    if isinstance(batch, collections.abc.Sequence):
        return _like(batch, [copy(value, device, non_blocking) for value in batch])
    return batch


def _like(container, items):
    """The items in a container of the same type, or unchanged if that cannot be made."""
    try:
        # A named tuple takes each item as an argument.
        return type(container)(*items) if hasattr(container, "_fields") else type(container)(items)
    except Exception:
        return items


def _to(value, device, non_blocking):
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=non_blocking)
    try:
        return value.to(device, non_blocking=non_blocking)
    except TypeError:
        return value.to(device)
