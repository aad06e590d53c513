"""What making a batch is seen to do: to objects that it can reach, to files, and to random numbers."""

import array
import collections
import ctypes
import functools
import io
import json
import os
import random
import socket
import sqlite3
import tempfile
import types
import unittest
from unittest import mock

import support
import torch
from hook_test import Heard
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler

from pinbench_live.judged.aside import draws_in_portions
from pinbench_live.judged.comparison import digest
from pinbench_live.judged.evidence import Evidence
from pinbench_live.judged.verdict import DISCARDED, HANDED, REFUSED
from pinbench_live.probe import probe_module
from pinbench_live.seen import open_files, reachable
from pinbench_live.seen.observer import Observer, order_of, path_of
from pinbench_live.seen.reachable import Reachable
from pinbench_live.watched import Watched


worker_records = probe_module("worker_records")

config = types.ModuleType("config")
config.__file__ = "/of-the-script/config.py"
config.size = 1


class Slotted:
    __slots__ = "size"


class Counting:
    size = 1

    def __init__(self):
        self.first = 0
        self.size = 1

    def __getitem__(self, index):
        return index


class Reading:
    def __getitem__(self, index):
        return config.size


def of_a_module():
    return config.size


def of_a_function_in_it():
    return [config.size for _ in range(2)]


def setting(value, name="size"):
    return lambda: setattr(value, name, 2)


class ReachableTest(unittest.TestCase):
    def changed(self, value, change):
        seen = Reachable({"dataset": value})
        self.assertIsNone(seen.changed())
        change()
        return seen.changed()

    def test_a_change_is_told_by_the_name_of_what_has_changed(self):
        slotted, counting = Slotted(), Counting()
        slotted.size = 1
        items, keys = [0] * 2500, {"a": 1, "b": 2}
        queue = collections.deque([0] * 1500)
        closed = 1

        def closure():
            return closed

        def close():
            nonlocal closed
            closed = 2

        for value, change, name in (
            (counting, setting(counting), "dataset.size"),
            (Counting(), setting(Counting), "Counting.size"),
            (slotted, setting(slotted), "dataset"),
            (keys, lambda: keys.update(b=3), "dataset['b']"),
            (items, lambda: items.__setitem__(-1, 1), "dataset"),
            (queue, lambda: queue.__setitem__(-1, 1), "dataset"),
            (closure, close, "closed"),
            (of_a_module, setting(config), "config.size"),
            (of_a_function_in_it, lambda: setattr(config, "size", 3), "config.size"),
            (Reading(), lambda: setattr(config, "size", 4), "config.size"),
        ):
            with self.subTest(name):
                self.assertEqual(self.changed(value, change), name)

    def test_a_change_of_the_data_set_is_none_of_the_order(self):
        dataset = support.Numbers(4)
        for change, name in (
            (setting(dataset, "length"), None),
            (lambda: vars(sampler).update(seed=2), "sampler.seed"),
        ):
            loader = DataLoader(dataset, shuffle=True, batch_size=None)
            sampler = loader.sampler
            sampler.seed = 1
            order = order_of(loader)
            change()
            self.assertEqual(order.changed(), name)


class ObservedTest(unittest.TestCase):
    def fetcher(self, dataset, collate_fn=list):
        return types.SimpleNamespace(dataset=dataset, collate_fn=collate_fn)

    def test_batches_of_another_data_set_within_are_none_of_its_own(self):
        own, other = self.fetcher(Counting()), self.fetcher(Counting())
        observer = Observer(own.dataset)
        for fetcher in (other, own, other):
            observer.before(fetcher)
            fetcher.dataset.size += 1
            observer.after(fetcher)
        self.assertEqual((observer.first_changed, observer.changed), ("dataset.size", None))

    def test_draws_of_any_batch_and_from_a_generator_of_the_data_set_s_own_count(self):
        own = torch.Generator()
        for draw in (lambda: torch.rand(1), lambda: torch.rand(1, generator=own)):
            fetcher = self.fetcher(Counting())
            fetcher.dataset.own = own
            observer = Observer()
            for batch in range(2):
                observer.before(fetcher)
                if batch == 0:
                    draw()
                observer.after(fetcher)
            self.assertIs(observer.is_random, True)

    def test_a_worker_s_record_has_all_that_it_has_seen_of_the_data_set_and_of_what_collates(self):
        kept = []

        def collate(samples):
            return kept

        with tempfile.TemporaryDirectory() as folder:
            path = path_of(folder, 5)
            observer = Observer(path=path)
            observer.before(self.fetcher(Counting(), collate))
            kept.append(1)
            observer.after(self.fetcher(Counting(), collate))
            found = {"is_random": False, "first_changed": "kept", "changed": None, "opened": None}
            self.assertEqual(worker_records.take(path), found)


class OpenedTest(unittest.TestCase):
    def test_a_file_that_a_batch_has_opened_is_told_with_all_later_ones(self):
        with tempfile.NamedTemporaryFile() as named:
            dataset = support.Numbers(4)
            observer = Observer(dataset)
            fetcher = types.SimpleNamespace(dataset=dataset, collate_fn=list)
            found = []
            for batch in range(3):
                observer.before(fetcher)
                if batch == 1:
                    self.addCleanup(open(named.name, "rb").close)
                observer.after(fetcher)
                found.append(observer.opened)
        self.assertEqual(found, [None, named.name, named.name])

    def test_a_file_that_is_read_and_written_has_a_position_that_workers_would_share(self):
        with tempfile.TemporaryFile("w+") as both:
            both.write("one line")
            both.flush()
            self.assertEqual(open_files.positions()[both.fileno()][2], 8)
        ends = os.pipe()
        for end in ends:
            self.addCleanup(os.close, end)
        self.assertFalse(set(ends) & set(open_files.positions()))


class DrawingTest(unittest.TestCase):
    def test_a_sampler_draws_in_portions_from_a_generator_of_its_own_for_more_than_one_order(self):
        own = torch.Generator()
        for expected, arguments in (
            (False, {"generator": own}),
            (False, {"generator": own, "num_samples": 4}),
            (True, {"generator": own, "num_samples": 5}),
            (True, {"generator": own, "replacement": True}),
            (False, {"replacement": True}),
        ):
            sampler = RandomSampler(range(4), **arguments)
            for each in (sampler, BatchSampler(sampler, 2, False)):
                self.assertIs(draws_in_portions(each), expected, arguments)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))


class EvidenceTest(unittest.TestCase):
    """The verdict from what a worker's batches have shown."""

    def evidence(self, dataset, **arguments):
        # It knows the loader only as long as somebody iterates it.
        self.loader = DataLoader(dataset, **arguments)
        return Evidence(self.loader, Watched(self.loader, Heard(), None))

    def verdict(self, evidence, **compared):
        given = {"failure": None, "digests": evidence._digests, "sample_copies": None, **compared}
        evidence._comparison = types.SimpleNamespace(**given, poll=lambda: True)
        evidence.before(False)
        return evidence.verdict

    def test_batches_of_a_stream_are_tried_aside_only_if_its_workers_are_seen_to_share_its_samples(self):
        for expected, size, copies, is_random in (
            (DISCARDED, 2, 1, False),
            (REFUSED, 2, 2, False),
            (REFUSED, 2, None, False),
            (REFUSED, 2, 1, True),
            (REFUSED, None, 1, False),
        ):
            evidence = self.evidence(Stream(), batch_size=size, num_workers=1)
            found = self.verdict(evidence, seen={"is_random": is_random}, sample_copies=copies)
            self.assertEqual(found.workers, expected, (size, copies, is_random))

    def test_a_loader_may_do_without_its_workers_only_if_these_leave_their_process_as_it_was(self):
        nothing = {"is_random": False, "first_changed": None, "changed": None, "opened": None}
        for expected, seen in (
            (True, nothing),
            *((False, {**nothing, name: "a name"}) for name in ("first_changed", "changed", "opened")),
            (False, None),
        ):
            found = self.verdict(self.evidence(support.Numbers(4), num_workers=1), seen=seen)
            self.assertEqual((found.workers, found.without_workers), (HANDED, expected), seen)

    def test_a_sampler_that_draws_for_one_of_the_batches_counts(self):
        for drawing in (1, 2):
            evidence = self.evidence(support.Numbers(6), num_workers=1)
            with mock.patch.object(evidence, "_judge"):
                for batch in range(3):
                    evidence.before(batch == 0)
                    if batch == drawing:
                        torch.rand(1)
                    evidence.after([batch], torch.zeros(1), 0.01)
            self.assertEqual(self.verdict(evidence, seen=None).workers, DISCARDED)

    def test_an_open_file_is_not_shared_with_workers_and_an_iterator_leaves_its_batches_aside(self):
        with tempfile.TemporaryFile() as file:
            for held, way in ((iter([1]), None), (file, REFUSED), (io.BytesIO(), None)):
                dataset = support.Numbers(4)
                dataset.held = held
                evidence = self.evidence(dataset)
                with mock.patch("pinbench_live.judged.evidence.Comparison"):
                    evidence._judge()
                self.assertEqual(evidence.verdict and evidence.verdict.workers, way)


class DigestTest(unittest.TestCase):
    def test_batches_differ_if_their_parts_end_elsewhere(self):
        self.assertNotEqual(digest({"a": b"ab", "b": [b"c", None]}), digest({"a": b"a", "b": [b"bc", None]}))
        self.assertNotEqual(digest({"a": b"ab", "b": b"c"}), digest({"a": b"a", "b": b"bc"}))


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
