"""Objects that a data set can reach: which changes of them are seen, which are not, and what workers must not share."""

import array
import collections
import ctypes
import functools
import json
import random
import socket
import sqlite3
import tempfile
import unittest

import support  # noqa: F401
import torch

from pinbench_live.seen import reachable
from pinbench_live.seen.reachable import Reachable

counts = {"made": 0}
limits = [1]


class Plain:
    shared = [1]

    def __init__(self, **values):
        vars(self).update(values)

    def method(self):
        return self

    @staticmethod
    def static():
        return limits

    @classmethod
    def of_class(cls):
        return limits

    @property
    def prop(self):
        return limits


class Static:
    @staticmethod
    def make():
        return limits


class Property:
    @property
    def make(self):
        return limits


class Calling:
    def __call__(self):
        return limits


class Several:
    __slots__ = ("first", "second")


def with_default(value=limits):
    return value


def nested():
    return [(lambda: counts["made"]) for _ in range(1)]


def added(value, to=1):
    return value


class ChangeTest(unittest.TestCase):
    def seen(self, value, change):
        found = Reachable({"dataset": value})
        self.assertIsNone(found.changed())
        change()
        return found.changed()

    def test_a_change_is_seen_wherever_it_is(self):
        tensor, large, buffer, shared = torch.zeros(4), torch.zeros(100_000), bytearray(b"abc"), ctypes.c_int(1)
        view, figures, names = torch.zeros(3, dtype=torch.uint8), array.array("i", [1, 2]), {"a"}
        held, queue, several = Plain(value=1), collections.deque([1, 2, 3]), Several()
        several.first, several.second = 1, 2
        inner, growing, typed = [1], torch.zeros(2), Plain(value=1)
        partial = functools.partial(added, [1], to=[2])
        for what, value, change in (
            ("an attribute of a method's object", held.method, lambda: setattr(held, "value", 2)),
            ("a class's list", Plain(), lambda: Plain.shared.append(2)),
            ("a global of a static method", Static(), lambda: limits.append(2)),
            ("a global of a property", Property(), lambda: limits.append(2)),
            ("a global of what is called", Calling(), lambda: limits.append(2)),
            ("a default", with_default, lambda: setattr(with_default, "__defaults__", (2,))),
            ("a global of a function within", nested, lambda: counts.update(made=counts["made"] + 1)),
            ("an argument of a partial", partial, lambda: partial.args[0].append(2)),
            ("a named argument of a partial", partial, lambda: partial.keywords["to"].append(2)),
            ("the function of a partial", functools.partial(nested), lambda: counts.update(made=counts["made"] + 1)),
            ("a list in a tuple", (inner, 2), lambda: inner.append(2)),
            ("the second slot", several, lambda: setattr(several, "second", 3)),
            ("a set", names, lambda: names.add("b")),
            ("a deque in its middle", queue, lambda: queue.__setitem__(1, 5)),
            ("a tensor", tensor, lambda: tensor.add_(1)),
            ("a tensor by another's memory", view, lambda: view.detach().copy_(torch.ones(3, dtype=torch.uint8))),
            ("a tensor that has grown", growing, lambda: growing.resize_(3)),
            ("the memory of a tensor", tensor, lambda: tensor.set_(torch.zeros(4))),
            ("a large tensor", large, lambda: large.fill_(1)),
            ("a buffer", buffer, lambda: buffer.__setitem__(2, 1)),
            ("the length of a buffer", buffer, lambda: buffer.append(1)),
            ("a ctypes number", shared, lambda: setattr(shared, "value", 2)),
            ("an array", figures, lambda: figures.__setitem__(1, 5)),
            ("one value of a large tensor", large, lambda: large.__setitem__(1, 5)),
            ("a value of another type", typed, lambda: setattr(typed, "value", True)),
        ):
            with self.subTest(what):
                self.assertIsNotNone(self.seen(value, change))

    def test_numpy_s_writes_change_no_version_of_a_tensor_and_are_seen_all_the_same(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("there is no NumPy")
        tensor, own, names = torch.zeros(4), numpy.zeros(4), numpy.array(["a", None], dtype=object)
        large = numpy.zeros(100_000)
        for what, value, change in (
            ("a tensor", tensor, lambda: tensor.numpy().__setitem__(3, 1)),
            ("an array", own, lambda: own.__setitem__(3, 1)),
            ("a large array", large, lambda: large.fill(1)),
            ("an array's shape", own, lambda: setattr(own, "shape", (2, 2))),
        ):
            with self.subTest(what):
                self.assertEqual(self.seen(value, change), "dataset")
        self.assertIsNone(self.seen(names, lambda: None))
        for numbers, draw in ((numpy.random.RandomState(1), "random_sample"), (numpy.random.default_rng(1), "random")):
            found = Reachable({"dataset": Plain(numbers=numbers)})
            self.assertFalse(found.has_drawn())
            getattr(numbers, draw)()
            self.assertTrue(found.has_drawn())
            self.assertIsNone(found.changed())

    def test_a_list_or_a_dict_of_the_script_s_own_kind_has_attributes_and_methods_too(self):
        class Counted(list):
            count = 0

            def __getitem__(self, index):
                counts["made"] += 1
                return super().__getitem__(index)

        class Named(dict):
            pass

        for value, change, name in (
            (Counted([1]), lambda of: setattr(of, "count", 1), "dataset"),
            (Counted([1]), lambda of: of[0], "counts['made']"),
            (Counted([1]), lambda of: of.append(2), "dataset"),
            (Named(a=1), lambda of: setattr(of, "other", 1), "dataset"),
            (Named(a=1), lambda of: of.update(a=2), "dataset['a']"),
        ):
            found = self.seen(value, lambda: change(value))
            self.assertTrue(found is not None and found.endswith(name), found)

    def test_draws_from_a_generator_are_no_change_and_told_apart(self):
        own, numbers = torch.Generator(), random.Random(1)
        for draw in (lambda: torch.rand(1, generator=own), numbers.random):
            found = Reachable({"dataset": Plain(own=own, numbers=numbers)})
            self.assertFalse(found.has_drawn())
            draw()
            self.assertIsNone(found.changed())
            self.assertTrue(found.has_drawn())
        plain = Plain(own=torch.zeros(1))
        found = Reachable({"dataset": plain})
        plain.own.add_(1)
        self.assertFalse(found.has_drawn())

    def test_the_name_of_a_change_is_the_way_to_it(self):
        inner, added_to = Plain(value=1), Plain(value=1)
        for value, change, name in (
            (Plain(first=1, inner=inner), lambda: setattr(inner, "value", 2), "dataset.inner.value"),
            (counts, lambda: counts.update(made=counts["made"] + 1), "dataset['made']"),
            (added_to, lambda: setattr(added_to, "other", 1), "dataset"),
            (Plain(items=[1, 2]), None, "dataset.items"),
            (Plain(items=[1, 2]).method, None, "dataset.items"),
        ):
            owner = getattr(value, "__self__", value)
            self.assertEqual(self.seen(value, change or (lambda owner=owner: owner.items.append(3))), name)

    def test_what_belongs_to_python_or_to_pinbench_is_not_looked_at(self):
        class OfPinbench:
            __module__ = "pinbench_live.watched"

        ours = OfPinbench()
        ours.value = 1
        self.assertIsNone(self.seen(ours, lambda: setattr(ours, "value", 2)))
        self.assertEqual(Reachable({"dataset": functools.partial})._nodes, [])
        self.assertEqual(Reachable({"dataset": json.dumps})._nodes, [])
        shared = [1]
        both = Reachable({"dataset": Plain(one=shared, other=shared)})
        self.assertEqual(sum(value is shared for _, value, _ in both._nodes), 1)

    def test_a_walk_without_an_end_has_one(self):
        first = chain = Plain()
        for _ in range(2000):
            chain.next = Plain()
            chain = chain.next
        self.assertLessEqual(len(Reachable({"dataset": first})._nodes), reachable._MOST_NODES + 2)


class HeldTest(unittest.TestCase):
    def test_files_connections_and_iterators_are_not_for_several_processes(self):
        with tempfile.NamedTemporaryFile() as file, open(file.name, "ab") as log, socket.socket() as connection:
            database = sqlite3.connect(":memory:")
            self.addCleanup(database.close)
            closed = open(file.name)
            closed.close()
            held = Reachable(
                {"dataset": Plain(a=file.file, b=log, c=connection, d=database, e=iter([1]), f=closed, g=zip(), h=[1])}
            ).held
        expected = [("file", "a"), ("connection", "c"), ("connection", "d"), ("iterator", "e"), ("iterator", "g")]
        self.assertEqual(held, [(kind, "dataset." + name) for kind, name in expected])


if __name__ == "__main__":
    unittest.main()
