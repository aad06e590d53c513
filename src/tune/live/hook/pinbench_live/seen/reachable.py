"""Objects that a data set can reach in the training process: whether they change, and which of them workers must not
share.
"""

import collections
import ctypes
import functools
import io
import itertools
import os
import random
import socket
import sqlite3
import stat
import sys
import types

import torch

# Limits of the walk: objects that may change, values of each, and values that are entered.
_MOST_NODES, _MOST_VALUES, _MOST_ENTERED = 300, 1000, 100
# Of larger arrays only a sample of values is compared.
_SMALL_BYTES, _SOME_VALUES = 1 << 16, 256
_SCALARS = (bool, int, float, complex, str, bytes, type(None))
_OPAQUE = (range, types.ModuleType, types.CodeType, types.FrameType, type(Ellipsis))
_CONTAINERS = (dict, list, tuple, collections.deque, set, frozenset)
# Types from these modules are not entered.
_OPAQUE_MODULES = ("logging", "threading", "weakref", "re", "pathlib", "datetime")
# The user's methods that run when a batch is made.
_CALLED = ("__call__", "__getitem__", "__getitems__", "__iter__", "__next__")
_LIBRARIES = ("site-packages", "dist-packages", os.path.dirname(os.__file__))
_ITERATORS = tuple({type(iter(each)) for each in ([], (), {}, set(), "", b"", range(1))}) + (
    types.GeneratorType, map, filter, zip, enumerate, itertools.cycle, itertools.chain, itertools.islice,
)


class Reachable:
    """`roots`: objects by the names that readers know; `without` is not entered. None of the user's code runs."""

    def __init__(self, roots, without=None):
        # Objects that forked workers would share, or copy with their state: (kind, name).
        self.held = []
        self._nodes = []
        self._entered = {id(without)}
        self._classes = set()
        waiting = collections.deque((name, value) for name, value in roots.items())
        while waiting and len(self._nodes) < _MOST_NODES:
            try:
                waiting.extend(self._enter(*waiting.popleft()))
            except Exception:
                pass  # the user's own type, which may forbid inspection
        self._seen = [_looked_at(value, look) for _, value, look in self._nodes]

    def changed(self):
        """The name of an object that has changed since this was made, except random generators; None if nothing has."""
        for (name, value, look), before in zip(self._nodes, self._seen):
            if look in _GENERATORS:
                continue
            now = _looked_at(value, look)
            if not _are_same(before, now):
                return _place(name, value, look, before, now)
        return None

    def has_drawn(self):
        """Whether a reachable random generator was drawn from."""
        return any(
            not _are_same(before, _looked_at(value, look))
            for (_, value, look), before in zip(self._nodes, self._seen)
            if look in _GENERATORS
        )

    def _enter(self, name, value):
        """Records the parts that may change; returns what it leads to."""
        kind = type(value)
        if kind in _SCALARS or isinstance(value, _OPAQUE) or id(value) in self._entered:
            return ()
        if kind.__module__ in _OPAQUE_MODULES or kind.__module__.startswith("pinbench"):
            return ()
        # Its owner keeps it alive during the walk.
        self._entered.add(id(value))
        held = _held(value)
        if held is not None:
            self.held.append((held, name))
            return ()
        look = _look_at(value, kind)
        if look is not None:
            self._nodes.append((name, value, look))
            return ()
        if isinstance(value, dict):
            self._nodes.append((name, value, _items))
            items = [("%s[%.40r]" % (name, key), item) for key, item in _some_items(value)]
            return items + self._besides_items(name, value, kind)
        if isinstance(value, (list, tuple, collections.deque, set, frozenset)):
            if not isinstance(value, (tuple, frozenset)):
                self._nodes.append((name, value, _length if isinstance(value, set) else _values))
            items = [("%s[...]" % name, item) for item in itertools.islice(value, _MOST_ENTERED)]
            return items + self._besides_items(name, value, kind)
        if isinstance(value, types.MethodType):
            return [(name, value.__func__), (name.rpartition(".")[0] or name, value.__self__)]
        if isinstance(value, (staticmethod, classmethod)):
            return [(name, value.__func__)]
        if isinstance(value, property):
            return [(name, value.fget)]
        if isinstance(value, functools.partial):
            return [(name, value.func), (name, value.args), (name, value.keywords)]
        if isinstance(value, types.FunctionType):
            return self._function(name, value)
        if isinstance(value, type):
            return self._class(value)
        return self._object(name, value, kind)

    def _besides_items(self, name, value, kind):
        """The script's own kind of list or dict may also have attributes, and its methods may use other objects."""
        return [] if kind in _CONTAINERS else self._object(name, value, kind)

    def _object(self, name, value, kind):
        found = []
        try:
            attributes = object.__getattribute__(value, "__dict__")
        except AttributeError:
            attributes = None
        if isinstance(attributes, dict):
            self._nodes.append((name, attributes, _attributes))
            found += [("%s.%s" % (name, key), item) for key, item in _some_items(attributes)]
            self._entered.add(id(attributes))
        if _slots(kind):
            self._nodes.append((name, value, _slot_values))
            found += [("%s.%s" % (name, slot), getattr(value, slot, None)) for slot in _slots(kind)]
        return found + self._class(kind)

    def _class(self, kind):
        found = []
        for each in kind.__mro__:
            module = sys.modules.get(each.__module__)
            if each in self._classes or each is object or _is_library(getattr(module, "__file__", None)):
                continue
            self._classes.add(each)
            self._nodes.append((each.__name__, each, _class_values))
            for key, item in _some_items(dict(each.__dict__)):
                if key[:2] != "__" or key in _CALLED:
                    found.append(("%s.%s" % (each.__name__, key), item))
        return found

    def _function(self, name, function):
        if _is_library(function.__code__.co_filename):
            return ()
        self._nodes.append((name, function, _function_values))
        return list(zip(_function_names(function), _function_values(function)))


def _looked_at(value, look):
    try:
        return look(value)
    except Exception:
        return [None]  # it cannot be looked at, or changes meanwhile


def _place(name, value, look, before, now):
    """The name of the changed part, if it has one."""
    index = next((i for i, (one, other) in enumerate(zip(before, now)) if not _is_same(one, other)), 0)
    if index == 0:
        return name
    if look is _function_values:
        return _function_names(value)[index]
    if look in (_attributes, _class_values):
        return "%s.%s" % (name, list(value if look is _attributes else value.__dict__)[index - 1])
    return "%s[%.40r]" % (name, list(value)[index - 1]) if look is _items else name


def _held(value):
    """Its kind, if processes must not share it or copy its state."""
    if isinstance(value, io.IOBase):
        return "file" if _is_regular(value) else None
    if isinstance(value, (socket.socket, sqlite3.Connection)):
        return "connection"
    return "iterator" if isinstance(value, _ITERATORS) else None


def _is_regular(file):
    try:
        return file.readable() and stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):
        return False  # closed, or in memory


def _look_at(value, kind):
    """How to detect a change of an object without further objects in it; None for other objects."""
    if isinstance(value, torch.Tensor):
        return _tensor
    if isinstance(value, (torch.Generator, random.Random)):
        return _generator_state
    if isinstance(value, (bytearray, memoryview)):
        return _buffer
    if isinstance(value, (ctypes._SimpleCData, ctypes.Array, ctypes.Structure)):
        return _ctypes
    if kind.__module__.split(".")[0] == "numpy":
        if kind.__name__ in ("Generator", "RandomState"):
            return _state_of_numpy
        if hasattr(value, "__array_interface__"):
            return _array
    if kind.__module__ == "array":
        return _buffer
    return None


def _tensor(value):
    look = [value.shape, _version(value)]
    if value.layout is not torch.strided or value.device.type not in ("cpu", "cuda"):
        return look
    look.append(value.data_ptr())
    # NumPy's writes into a tensor's memory change no version.
    if value.device.type == "cpu" and value.is_contiguous() and value.numel() > 0:
        flat = value.detach().view(-1)
        step = 1 if value.numel() * value.element_size() <= _SMALL_BYTES else max(1, value.numel() // _SOME_VALUES)
        look.append(_Sample(flat[::step]))
    return look


class _Sample:
    def __init__(self, values):
        self.bytes = values.clone().view(torch.uint8)


def _version(value):
    try:
        return value._version
    except RuntimeError:
        return None  # of inference


def _array(value):
    look = [value.__array_interface__["data"], value.shape]
    numpy = sys.modules["numpy"]
    # Mapped memory may have to come from storage.
    if isinstance(value, numpy.memmap) or value.dtype.hasobject or value.size == 0:
        return look
    step = 1 if value.nbytes <= _SMALL_BYTES else max(1, value.size // _SOME_VALUES)
    return look + [value.tobytes() if step == 1 else value.flat[::step].tobytes()]


def _buffer(value):
    flat = memoryview(value).cast("B")
    return [len(flat), bytes(flat if len(flat) <= _SMALL_BYTES else flat[:: len(flat) // _SOME_VALUES])]


def _ctypes(value):
    return _buffer(memoryview(value))


def _generator_state(value):
    return [_Sample(value.get_state()) if isinstance(value, torch.Generator) else value.getstate()]


def _state_of_numpy(value):
    return [repr(value.bit_generator.state) if hasattr(value, "bit_generator") else repr(value.get_state())]


_GENERATORS = (_generator_state, _state_of_numpy)


def _values(value):
    """Length and some items of a list or a deque."""
    length = len(value)
    if length <= _MOST_VALUES:
        return [length, *value]
    if isinstance(value, list):
        return [length, value[-1], *value[:: length // _MOST_VALUES]]
    return [length, value[0], value[-1]]


def _items(value):
    return [len(value), *itertools.islice(dict.values(value), _MOST_VALUES)]


def _attributes(value):
    return _items(value)


def _length(value):
    return [len(value)]


def _class_values(kind):
    return _items(dict(kind.__dict__))


def _function_values(function):
    return [function.__code__, function.__defaults__, *_cells(function).values(), *_globals_of(function).values()]


def _function_names(function):
    return [function.__name__] * 2 + [*_cells(function), *_globals_of(function)]


def _cells(function):
    """Its closure: variables of the enclosing functions."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            pass  # still empty
    return found


def _globals_of(function):
    """Globals that the code names, and those of modules that it names."""
    names, around, found = _names_in(function.__code__), function.__globals__, {}
    for name in names:
        if name not in around:
            continue
        value = found[name] = around[name]
        if isinstance(value, types.ModuleType) and not _is_library(getattr(value, "__file__", None)):
            found.update(("%s.%s" % (name, each), value.__dict__[each]) for each in names if each in value.__dict__)
    return found


@functools.lru_cache(maxsize=1024)
def _names_in(code):
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _names_in(constant)
    return tuple(dict.fromkeys(names))


def _some_items(value):
    return list(itertools.islice(dict.items(value), _MOST_ENTERED))


def _slot_values(value):
    return [getattr(value, slot, None) for slot in _slots(type(value))]


@functools.lru_cache(maxsize=1024)
def _slots(kind):
    """For the script's own types."""
    found = []
    for each in kind.__mro__:
        slots = each.__dict__.get("__slots__", ())
        if slots and not _is_library(getattr(sys.modules.get(each.__module__), "__file__", None)):
            found += [slots] if isinstance(slots, str) else slots
    return tuple(slot for slot in found if slot not in ("__dict__", "__weakref__"))


def _is_library(path):
    """Whether code belongs to Python or to an installed package, whose globals the script does not change."""
    return path is None or path.startswith("<frozen") or any(each in path for each in _LIBRARIES)


def _are_same(before, now):
    return len(before) == len(now) and all(map(_is_same, before, now))


def _is_same(one, other):
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, _Sample):
        return torch.equal(one.bytes, other.bytes)
    # Bytes, shapes and states of generators among them.
    return type(one) in (*_SCALARS, tuple, torch.Size) and one == other
