"""The checks of a data set and a loop before advice on workers."""

import functools
import multiprocessing
import os
import queue
import socket
import sqlite3
import subprocess
import tempfile
import time
import types
import unittest

import support
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from pinbench_tune import inspect

_module_wide = socket.socketpair()


class Holder(Dataset):
    def __init__(self, **held):
        self.__dict__.update(held)

    def __len__(self):
        return 100

    def __getitem__(self, index):
        return torch.tensor([index])


class AsksModule(Holder):
    def __getitem__(self, index):
        return _module_wide[0].recv(index)


class AsksInComprehension(Holder):
    def __getitem__(self, index):
        return [_module_wide[0].recv(each) for each in range(index)]


_other_module = types.ModuleType("other_module")
_other_module.connection = _module_wide[0]


class AsksOtherModule(Holder):
    def __getitem__(self, index):
        return _other_module.connection.recv(index)


class NamesLikeIt(Holder):
    """An attribute has the name of a global that it does not use."""

    def __getitem__(self, index):
        return self._module_wide


class Slow(Holder):
    def read(self, index):
        time.sleep(0.003)
        return torch.tensor([index])

    def __getitem__(self, index):
        return self.read(index)


class KeepsInDict(Slow):
    def __getitem__(self, index):
        if index not in self.kept:
            self.kept[index] = self.read(index)
        return self.kept[index]


class KeepsInPlace(Slow):
    """Nothing of it grows."""

    def __getitem__(self, index):
        if self.kept[index] is None:
            self.kept[index] = self.read(index)
        return self.kept[index]


class KeepsByDecorator(Slow):
    __getitem__ = functools.lru_cache(maxsize=None)(Slow.read)


class OpensLate(Slow):
    """Its first sample alone takes long."""

    def __getitem__(self, index):
        if not self.opened:
            time.sleep(0.1)
            self.opened.append(1)
        return self.read(index)


class Updated(Holder):
    def __getitem__(self, index):
        return torch.tensor([self.values[index]["seen"]])


class Draws(Holder):
    def __getitem__(self, index):
        return torch.rand(2)


class Counts(Holder):
    def __getitem__(self, index):
        self.calls += 1
        return torch.tensor([self.calls])


class InspectTest(unittest.TestCase):
    def held(self, dataset):
        found = inspect.held(dataset)
        return found and found[0]

    def test_what_processes_would_share_is_found_however_deep(self):
        with tempfile.NamedTemporaryFile() as file, socket.socket() as plain, open(os.devnull, "w") as log:
            one, other = multiprocessing.Pipe()
            program = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(program.communicate)
            nested = types.SimpleNamespace(client=types.SimpleNamespace(pool=[{"socket": plain}]))
            table = [
                ({"c": plain}, "connection"),
                ({"c": one}, "connection"),
                ({"c": program}, "connection"),
                ({"c": queue.Queue()}, "connection"),
                ({"c": multiprocessing.Queue()}, "connection"),
                ({"c": sqlite3.connect(":memory:")}, "connection"),
                ({"rows": [{"id": n, "box": [n, n]} for n in range(4000)], "client": nested}, "connection"),
                ({"c": file}, "file"),
                ({"c": log, "classes": plain.fileno(), "text": "fd", "d": torch.zeros(3)}, None),
                ({"c": functools.partial(print, 1)}, None),
            ]
            for held, check in table:
                with self.subTest(held=sorted(held)):
                    self.assertEqual(self.held(Holder(**held)), check)
            other.close()

    def test_globals_that_its_methods_use_are_found_and_no_others(self):
        for asking in (AsksModule(), AsksInComprehension(), AsksOtherModule()):
            self.assertEqual(self.held(asking), "connection")
        self.assertIsNone(self.held(NamesLikeIt(_module_wide=1)))

    def spoken(self, dataset, loop=lambda dataset: None, method="fork"):
        """The checks that speak before the first setting with workers, after two epochs of a loop without any."""
        spoken = []
        inspection = inspect.Inspection(DataLoader(dataset, batch_size=4), lambda check, _: spoken.append(check), method)
        inspection.chosen()
        for _epoch in range(2):
            for first in range(0, 24, 4):
                indices = list(range(first, first + 4))
                inspection.drawn(indices)
                for index in indices:
                    dataset[index]
                loop(dataset)
        inspection.judge()
        self.assertEqual(multiprocessing.active_children(), [])
        return spoken

    def test_what_a_data_set_does_in_a_worker_that_started_before_the_loop(self):
        def update(dataset):
            for each in dataset.values:
                each["seen"] += 1

        for dataset, loop, checks in (
            (support.Numbers(100), None, []),
            (Slow(), None, []),
            (Draws(), None, []),
            (OpensLate(opened=[]), None, []),
            # It gives another sample each time, which proves nothing.
            (Counts(calls=0), None, []),
            (KeepsInDict(kept={}), None, ["keeps"]),
            (KeepsInPlace(kept=[None] * 100), None, ["keeps"]),
            (KeepsByDecorator(), None, ["keeps"]),
            (Updated(values=[{"seen": 0} for _ in range(4000)]), update, ["different"]),
            (Updated(values=[{"seen": 0} for _ in range(4000)]), None, []),
            (Holder(c=_module_wide[0]), None, ["connection"]),
        ):
            with self.subTest(dataset=type(dataset).__name__):
                self.assertEqual(self.spoken(dataset, loop or (lambda _: None)), checks)

    def test_a_worker_that_would_import_the_script_is_not_started_early(self):
        self.assertEqual(self.spoken(KeepsInDict(kept={}), method="spawn"), [])

    def test_a_stream_is_not_compared(self):
        class Stream(IterableDataset):
            def __iter__(self):
                return iter(range(8))

        inspection = inspect.Inspection(DataLoader(Stream(), batch_size=4), self.fail, "fork")
        inspection.drawn(None)
        inspection.judge()

    def test_a_loop_that_keeps_its_batches_speaks_by_its_open_files(self):
        for kept, batches, under_way, epoch, speaks in (
            (30, 30, 2, None, True), (3, 30, 2, None, False), (8, 30, 16, None, False), (10, 10, 2, None, False),
            # An epoch's batches may all be kept until it ends; those of more than one are kept for longer.
            (30, 30, 2, 40, False), (30, 30, 2, 25, True), (30, 30, 2, 10**7, True),
        ):
            self.assertEqual(inspect.files(kept, batches, under_way, epoch) is not None, speaks, (kept, batches, epoch))

    def test_a_stream_whose_workers_each_deliver_all_of_it_speaks(self):
        for copies, speaks in ((2.0, True), (1.0, False), (None, False)):
            self.assertEqual(inspect.stream(copies, 2) is not None, speaks)
