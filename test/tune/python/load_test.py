"""How the probe finds what a target names, and the batches of its trials."""

import itertools
import os
import sys
import tempfile
import threading
import types
import unittest
import warnings
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from pinbench_tune import facts, serve
from pinbench_tune.faults import Refusal
from pinbench_tune.load import source, step, target

FILE = """
import torch
from torch.utils.data import DataLoader, Dataset
NUMBER = 5
class Numbers(Dataset):
    def __init__(self, length=4): self.length = length
    def __len__(self): return self.length
    def __getitem__(self, index): return index
class Holder:
    def __init__(self): self.train = Numbers(8)
    def make(self): return self.train
    def needs(self, root): pass
    @property
    def failing(self): raise ValueError("not now")
class LightningDataModule:
    def __init__(self): self.called = []
    def prepare_data(self): self.called.append("prepare")
    def setup(self, stage): self.called.append(stage)
    def train_dataloader(self): return DataLoader(Numbers(len("".join(self.called))))
    def val_dataloader(self): return self.train_dataloader()
class Refusing(LightningDataModule):
    def prepare_data(self): raise RuntimeError("no network")
def make(): return Numbers()
def make_splits(): return {"train": Numbers(3), "test": Numbers(2)}
def nothing(): pass
def exits(): raise SystemExit(3)
splits = {"train": Numbers(3), "a:b": Numbers(6), 0: Numbers(5)}
holder, module = Holder(), LightningDataModule()
"""


class TargetTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        for patched in (mock.patch.object(sys, "path", list(sys.path)), mock.patch.dict(sys.modules)):
            patched.start()
            self.addCleanup(patched.stop)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def found(self, path, name, is_first_rank=True):
        given = "%s:%s" % (path, name)
        target.check(given)
        return target.make(target.load(given), given, is_first_rank, lambda: None)

    def test_a_name_is_an_expression_whose_value_is_called_if_it_is_no_data_set(self):
        path = self.write("pinbench_target.py", FILE)
        for name, samples in (
            ("make", 4), ("make()", 4), ("Numbers", 4), ("Numbers(7)", 7), ("holder.train", 8), ("holder.make", 8),
            ('splits["train"]', 3), ("splits['a:b']", 6), ("splits[0]", 5), ('make_splits()["train"]', 3),
            ("module", len("preparefit")), ("LightningDataModule", len("preparefit")),
            ("LightningDataModule().val_dataloader", len("preparevalidate")),
        ):
            with self.subTest(name=name):
                self.assertEqual(len(self.found(path, name)), samples)
        self.assertEqual(len(self.found(path, "LightningDataModule", False)), len("fit"))

    def test_what_is_no_data_set_is_refused_with_what_may_help(self):
        path = self.write("pinbench_target.py", FILE)
        for name, message, hint in (
            ("mak", "name 'mak' is not defined", "It has NUMBER, Numbers, Holder"),
            ("", "does not say where the data set is", "pinbench_target.py:make_dataset"),
            ("make it", "is no name in", "a Python expression"),
            ("NUMBER", "is int, which is neither", "Name a Dataset, a DataLoader, or a function"),
            ("holder", "is Holder, which is neither", "Name what is in it: %s:holder.train." % path),
            ("make_splits", "is dict, which is neither", "make_splits[\"train\"]', '%s:make_splits[\"test\"]'." % path),
            ('make_splits["train"]', "not subscriptable", "A function is called only if it is the whole name"),
            ("splits[train]", "name 'train' is not defined", "It has"),
            ("nothing", "returned nothing", "It must return"),
            ("exits", "it called sys.exit(3)", ""),
            ("holder.needs", "cannot be called without arguments: missing a required argument: 'root'", "of your own"),
            ("holder.failing", "failed: ValueError: not now (", ""),
            ("Refusing", "cannot be set up: RuntimeError: no network (", ""),
        ):
            with self.subTest(name=name), self.assertRaises(Refusal) as refused:
                self.found(path, name)
            self.assertIn(message, refused.exception.message)
            self.assertIn(hint, refused.exception.hint or "")

    def test_a_file_or_a_module_that_cannot_be_imported_is_refused_with_what_may_help(self):
        for name, text, message, hint in (
            ("data.v2.py", "make = 1\n", "cannot be imported.", "Give a Python file"),
            ("threading.py", "make = 1\n", "has the name of a module that Python or torch itself has loaded.", "Rename"),
            ("of_package.py", "from . import sibling\n", "cannot be imported", "It belongs to a package"),
            ("exiting.py", "raise SystemExit(1)\n", "cannot be imported", "Importing it must not start a training"),
            ("lacking.py", "import no_such_module\n", "cannot be imported", "Modules are searched"),
            ("broken.py", "raise ValueError('it broke')\n", "ValueError: it broke (", ""),
        ):
            with self.subTest(name=name), self.assertRaises(Refusal) as refused:
                self.found(self.write(name, text), "make")
            self.assertEqual(refused.exception.kind, "usage")
            self.assertIn(message, refused.exception.message)
            self.assertIn(hint, refused.exception.hint or "")
        with self.assertRaisesRegex(Refusal, "There is no file gone.py"):
            target.check("gone.py:make")

    def test_a_torch_that_is_missing_too_old_or_broken_is_refused(self):
        for torchs, message in (
            (None, "cannot import torch|has no torch"),
            (types.SimpleNamespace(__version__="1.12.1"), "torch 1.12.1 is too old"),
        ):
            with mock.patch.dict(sys.modules, torch=torchs), self.assertRaisesRegex(Refusal, message):
                serve.check_torch()
        with mock.patch.dict(sys.modules, torch=types.SimpleNamespace(__version__="2.11.0+cu130")):
            serve.check_torch()


SAMPLES = 7
ORDERS = {
    "in order": {},
    "shuffled": {"shuffle": True},
    "sampler": {"sampler": [4, 2, 0, 6, 1]},
    "batch sampler": {"batch_sampler": [[4, 2], [1, 5, 3]]},
}


class Pairs(support.Numbers):
    def __getitem__(self, index):
        return torch.tensor([index, 10 * index]), index


class Stream(IterableDataset):
    def __iter__(self):
        return map(Pairs(SAMPLES).__getitem__, range(SAMPLES))


class Once(IterableDataset):
    rest = iter(range(3))

    def __iter__(self):
        return self.rest


def negative(batch_or_sample):
    return [-number for number in numbers(batch_or_sample)]


def numbers(value):
    """All numbers of a batch, in order."""
    if isinstance(value, torch.Tensor):
        return value.flatten().tolist()
    return [value] if isinstance(value, int) else [number for item in value for number in numbers(item)]


def expect_stream(_worker):
    assert type(get_worker_info().dataset) is Stream


def loaders():
    """(what it is, the DataLoader) for each combination of arguments that torch accepts."""
    kinds = itertools.product((Pairs(SAMPLES), Stream()), (None, 1, 3), ORDERS, (False, True), (None, negative))
    for data, size, order, drop_last, collate in kinds:
        given = {"batch_size": size, "drop_last": drop_last, **ORDERS[order]}
        if order == "batch sampler":
            del given["batch_size"], given["drop_last"]
            if (size, drop_last) != (1, False):
                continue  # the same loader again
        try:
            loader = DataLoader(data, collate_fn=collate, **given)
        except ValueError:
            continue  # torch has no such loader
        yield (type(data).__name__, size, order, drop_last, collate), loader


class SourceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        silenced = warnings.catch_warnings()
        silenced.__enter__()
        self.addCleanup(silenced.__exit__, None, None, None)
        warnings.simplefilter("ignore")  # there is no GPU to pin memory for

    def source(self, made, batch_size=None):
        return source.Source(made, batch_size, self.folder)

    def made(self, loader, count):
        iterator = iter(loader)
        return [numbers(batch) for batch in itertools.islice(iterator, count)]

    def test_trials_have_the_training_s_batches_with_workers_and_without(self):
        seen = 0
        for kind, loader in loaders():
            with self.subTest(kind=kind):
                is_map = kind[0] == "Pairs"
                self.assertEqual(self.source(loader).epoch_batches(), len(loader) if is_map else None)
                epoch = self.made(loader, None)
                # The end of one epoch and the start of the next may share a batch.
                whole = [batch for batch in epoch if len(batch) == len(epoch[0])]
                # Each worker of a stream would give all samples.
                settings = [(0, False, None, False), (2 if is_map else 1, True, 3, True)]
                for setting in settings if kind[1] != 1 or kind[2] == "batch sampler" else settings[:1]:
                    found = self.made(self.source(loader).loader(*setting), len(whole))
                    if kind[2] == "shuffled":
                        self.assertEqual([len(batch) for batch in found], [len(batch) for batch in whole])
                        self.assertEqual(len(set(map(tuple, found))), len(found))
                    else:
                        self.assertEqual(found, whole)
                seen += 1
        self.assertEqual(seen, 42)

    def test_batches_have_the_size_that_was_asked_for_unless_the_loader_does_not_set_it(self):
        self.assertEqual(self.source(DataLoader(Pairs(8), batch_size=2), 4).batch_size, 4)
        for made, size, message in (
            (Pairs(8), None, "does not say"),
            (DataLoader(Pairs(8), batch_sampler=[[1]]), 2, "own batch_sampler"),
            (DataLoader(Stream(), batch_size=None), 2, "own data set"),
        ):
            with self.assertRaisesRegex(Refusal, message):
                self.source(made, size)

    def test_other_arguments_are_the_loader_s_own_and_those_of_workers_only_with_workers(self):
        generator = torch.Generator()
        given = {"timeout": 7, "multiprocessing_context": "spawn", "num_workers": 1, "persistent_workers": True}
        of_loader = self.source(DataLoader(Pairs(8), 4, drop_last=True, generator=generator, collate_fn=list, **given))
        for workers in (0, 2):
            loader = of_loader.loader(workers)
            self.assertEqual((loader.drop_last, loader.collate_fn, loader.generator), (True, list, generator))
            context = loader.multiprocessing_context
            found = loader.timeout, context and context.get_start_method()
            self.assertEqual(found, (7, "spawn") if workers > 0 else (0, None))
        expected = {"numWorkers": 1, "pinMemory": False, "prefetchFactor": 2, "persistentWorkers": True, "nonBlocking": False}
        self.assertEqual(facts.setting_of(of_loader.given), expected)

    def test_an_epoch_smaller_than_a_batch_gives_smaller_batches_and_with_drop_last_none(self):
        self.assertEqual(self.source(Pairs(3), 8).batch_size, 3)
        with self.assertRaisesRegex(Refusal, "An epoch has 3 samples, which with drop_last make no batch of 8"):
            self.source(DataLoader(Pairs(3), 8, drop_last=True))

    def test_a_loader_of_another_class_is_named_and_measured_as_torch_s(self):
        kind = type("StatefulDataLoader", (DataLoader,), {"__module__": "torchdata.stateful_dataloader"})
        said = "torchdata.stateful_dataloader.StatefulDataLoader is measured as torch's own DataLoader with its settings."
        self.assertEqual(self.source(kind(Pairs(4), batch_sampler=[[0], [1, 2]])).notes(), [said])
        self.assertEqual(self.source(DataLoader(Pairs(4))).notes(), [])

    def test_trials_go_on_where_the_last_one_stopped_and_epochs_are_shuffled_anew(self):
        made = self.source(Pairs(5000), 1000)
        epochs = [[label for batch in self.made(made.loader(0), 5) for label in batch[2000:]] for _ in range(2)]
        for epoch in epochs:
            self.assertEqual(sorted(epoch), list(range(5000)))
        self.assertNotEqual(*epochs)
        again = self.made(self.source(Pairs(5000), 1000).loader(0), 5)
        self.assertEqual([label for batch in again for label in batch[2000:]], epochs[0])

        class Sampler:
            def set_epoch(self, epoch):
                self.epoch = epoch

            def __iter__(self):
                return iter([self.epoch] * 2 if self.epoch < 3 else [])

        self.assertEqual(list(source.EndlessSampler(Sampler())), [0, 0, 1, 1, 2, 2])

    def test_a_stream_restarts_until_it_has_nothing_and_workers_show_the_user_s_own(self):
        given = DataLoader(Stream(), batch_size=4, worker_init_fn=expect_stream)
        self.assertEqual(len(self.made(self.source(given).loader(1), 9)), 9)
        self.assertEqual(list(source.EndlessIterable(Once())), [0, 1, 2])


class DropFilesTest(unittest.TestCase):
    def test_a_named_pipe_among_the_files_is_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(os.path.join(folder, "pipe"))
            os.symlink("nowhere", os.path.join(folder, "broken link"))
            dropping = threading.Thread(target=source.drop_files, args=[folder, False, lambda: True], daemon=True)
            dropping.start()
            dropping.join(20)
            self.assertFalse(dropping.is_alive())


class StepTest(unittest.TestCase):
    def test_a_stand_in_that_is_timed_in_part_takes_the_time_of_all_its_products(self):
        timed = []

        def time_ns(action):
            with mock.patch.object(torch, "matmul", side_effect=lambda *_, **__: timed.append(1)):
                before = len(timed)
                action()
            return 1000 * (len(timed) - before)

        device = types.SimpleNamespace(is_cuda=False, torch_device="cpu", time_ns=time_ns)
        # Pictures of ResNet-50 on a CPU: 45 products of matrices of 512 x 512.
        start, took_ns = step.make("auto", 602_112, device, lambda: None)
        self.assertEqual(took_ns, 1000 * 45)
        self.assertEqual(time_ns(lambda: start(None)), 1000 * 45)
