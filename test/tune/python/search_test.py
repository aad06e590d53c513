"""A loop's iterator during a search, towards a pinbench that the test plays."""

import multiprocessing
import os
import signal
import tempfile
import time
import unittest
import unittest.mock

import support
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torch.utils.data._utils import signal_handling
from torch.utils.data.dataloader import _BaseDataLoaderIter

from pinbench_tune.trial import watch


class Session:
    """Keeps the messages that it gets, and answers with the given commands."""

    def __init__(self, folder):
        self.folder = folder
        self.told = []
        self.commands = []
        self.has_target = False
        self._watched = []

    def tell(self, kind, /, **fields):
        self.told.append({"type": kind, **fields})

    def add(self, watched):
        self._watched.append(watched)
        return len(self._watched)

    def obey(self):
        for watched in self._watched:
            if self.commands and self.commands[0]["atBatch"] <= watched.delivered and watched.asked is None:
                watched.asked = self.commands.pop(0)

    def of(self, kind):
        return [each for each in self.told if each["type"] == kind]


class Fails(Dataset):
    """In a worker, or does `what` there."""

    def __init__(self, what):
        self.what = what

    def __len__(self):
        return 40

    def __getitem__(self, index):
        if get_worker_info() is not None:
            self.what()
        return torch.tensor([index])


def _raise():
    raise ValueError("not here")


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


class Unsendable(Fails):
    """Its batches do not pickle."""

    def __getitem__(self, index):
        return torch.tensor([index]) if get_worker_info() is None else (lambda: index)


def first(samples):
    return samples[0]


class Stream(IterableDataset):
    def __iter__(self):
        return (torch.tensor([number]) for number in range(40))


class SearchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.session = Session(folder.name)
        # As when the hook takes place before torch's own handler does.
        self.addCleanup(signal.signal, signal.SIGCHLD, signal.signal(signal.SIGCHLD, signal.SIG_DFL))
        patch = unittest.mock.patch.object(signal_handling, "_SIGCHLD_handler_set", True)
        patch.start()
        self.addCleanup(patch.stop)
        self.watch = watch.Watch(DataLoader, os.path.join(folder.name, "hook"))
        self.watch._open = lambda: self.session
        self.watch._session = self.session

    def ask(self, *changes):
        self.session.commands = [
            {"atBatch": at, "change": number, "setting": setting} for number, (at, setting) in enumerate(changes, 1)
        ]

    def batches_by_change(self):
        counts = {}
        for each in self.session.of("batches"):
            counts[each["change"]] = counts.get(each["change"], 0) + len(each["ns"])
        return counts

    def epoch(self, loader):
        return support.numbers_of(self.watch.iterator_of(loader))

    def test_an_epoch_without_a_change_is_that_of_torch(self):
        loader = DataLoader(support.Numbers(20), batch_size=4)
        self.assertEqual(self.epoch(loader), support.numbers_of(DataLoader(support.Numbers(20), batch_size=4)))
        iterator = self.watch.iterator_of(loader)
        self.assertIsInstance(iterator, _BaseDataLoaderIter)
        self.assertEqual((iter(iterator), len(iterator)), (iterator, 5))

    def test_epochs_keep_their_length_and_get_real_batches_whatever_changes(self):
        for own in (dict(), dict(num_workers=1), dict(num_workers=1, persistent_workers=True)):
            with self.subTest(own=own):
                self.setUp()
                self.ask((3, support.setting(2)), (8, support.setting(0)), (12, support.setting(1, 4, True)), (25, support.setting(0)))
                loader = DataLoader(support.Numbers(40), batch_size=4, **own)
                for _ in range(3):
                    batches = self.epoch(loader)
                    self.assertEqual([len(batch) for batch in batches], [4] * 10)
                    self.assertLessEqual(set(sum(batches, [])), set(range(40)))
                self.assertEqual([each["change"] for each in self.session.of("changed")], [1, 2, 3, 4])
                self.assertEqual(self.batches_by_change(), {0: 3, 1: 5, 2: 4, 3: 13, 4: 5})

    def test_what_workers_do_is_known_before_the_loop_leaves_a_setting(self):
        self.ask((3, support.setting(2)))
        iterator = self.watch.iterator_of(DataLoader(Stream(), batch_size=1, collate_fn=lambda samples: samples[0].repeat(8)))
        kept = [next(iterator) for _ in range(50)]
        self.assertEqual([each["check"] for each in self.session.of("check")], ["stream", "files"])
        del kept

    def test_a_process_that_imports_the_script_trains_nothing(self):
        process = multiprocessing.current_process()
        with unittest.mock.patch.object(process, "_inheriting", True, create=True), self.assertRaises(RuntimeError):
            self.epoch(DataLoader(support.Numbers(4)))

    def test_each_batch_is_reported_under_its_setting(self):
        self.ask((3, support.setting(1)))
        self.epoch(DataLoader(support.Numbers(40), batch_size=4))
        self.assertEqual(self.batches_by_change(), {0: 3, 1: 7})
        self.assertEqual([each["event"] for each in self.session.of("epoch")], ["begin", "end"])
        self.assertEqual(self.session.of("batch")[0]["facts"]["batch"]["samples"], 4)

    def test_a_stream_begins_anew_with_each_setting(self):
        self.ask((3, support.setting(1)))
        batches = self.epoch(DataLoader(Stream(), batch_size=4))
        self.assertEqual(batches[:4], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [0, 1, 2, 3]])
        self.assertEqual(len(batches), 13)

    def test_a_setting_that_fails_gives_way_to_the_scripts_own(self):
        for what, fault in ((_raise, "dataset-raised"), (_die, "worker-killed")):
            with self.subTest(fault=fault):
                self.setUp()
                self.ask((3, support.setting(1)))
                self.assertEqual(len(self.epoch(DataLoader(Fails(what), batch_size=4))), 10)
                self.assertEqual([each["failure"]["fault"] for each in self.session.of("failed")], [fault])

    def test_a_batch_that_cannot_be_sent_is_an_error_and_no_wait_without_end(self):
        self.ask((3, support.setting(1)))
        self.epoch(DataLoader(Unsendable(None), batch_size=1, collate_fn=first))
        self.assertEqual([each["failure"]["fault"] for each in self.session.of("failed")], ["not-picklable"])

    def test_making_collating_and_handing_over_are_timed_with_workers_and_without(self):
        self.ask((10, support.setting(1)))
        self.epoch(DataLoader(support.Numbers(120), batch_size=4))
        last = {each["change"]: each for each in self.session.of("batches")}
        for change, parts in ((0, ("made", "collated")), (1, ("made", "collated", "handedOver"))):
            for part in parts:
                self.assertGreater(last[change][part], 0, (change, part))

    def test_a_setting_that_brings_no_batch_in_time_gives_way_too(self):
        self.ask((3, support.setting(1)))
        loader = DataLoader(Fails(lambda: time.sleep(60)), batch_size=4)
        iterator = self.watch.iterator_of(loader)
        watched = self.watch.find(loader)
        watched.limit = lambda *_: 0.3
        self.assertEqual(len(list(iterator)), 10)
        self.assertEqual([each["failure"]["fault"] for each in self.session.of("failed")], ["hang"])

    def test_an_error_under_the_scripts_own_setting_is_the_scripts(self):
        with self.assertRaises(ValueError):
            self.epoch(DataLoader(Fails(_raise), batch_size=4, num_workers=1))

    def test_a_loader_that_is_made_anew_for_each_epoch_is_the_same_one(self):
        kind = type("DataLoader", (DataLoader,), {"__init__": DataLoader.__init__, "__iter__": DataLoader.__iter__})
        self.watch._kind = kind
        self.watch.take_place()
        self.ask((3, support.setting(1)))
        for batches in (10, 11, 8):
            loader = kind(support.Numbers(4 * batches), batch_size=4)
            self.assertEqual(len(list(loader)), batches)
            self.assertEqual(len(list(kind(support.Numbers(12), batch_size=4))), 3)
            del loader
        names = {each["name"] for each in self.session.of("loader")}
        self.assertEqual([name[:-8] for name in names], ["Numbers, 4, "] * 2)
        self.assertEqual([each["loader"] for each in self.session.of("renewed")], [1, 2, 1, 2])

    def test_a_loader_with_an_iterator_of_its_own_is_left_alone_and_named(self):
        self.watch._kind = type("DataLoader", (DataLoader,), {"__init__": DataLoader.__init__, "__iter__": DataLoader.__iter__})
        self.watch.take_place()
        once = lambda _loader: iter([torch.tensor([1])])
        for name in ("__iter__", "_get_iterator"):
            module = {"__module__": "torchdata.stateful_dataloader"}
            stateful = type("StatefulDataLoader", (self.watch._kind,), {name: once, **module})
            self.session.told.clear()
            self.assertEqual(support.numbers_of(stateful(support.Numbers(4))), [[1]])
            named = [each["name"] for each in self.session.of("ownIter")]
            self.assertEqual(named, ["torchdata.stateful_dataloader.StatefulDataLoader"])

    def test_no_loader_inside_a_worker_is_watched(self):
        with unittest.mock.patch.object(watch, "_is_in_worker", lambda: True):
            self.epoch(DataLoader(support.Numbers(4)))
        self.assertEqual(self.session.told, [])
