"""What the probe makes of every kind of DataLoader, and how it handles the files, batches and modules of its data."""

import itertools
import os
import tempfile
import threading
import types
import unittest
import warnings
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader, IterableDataset

from pinbench_probe.facts import first_batch
from pinbench_probe.faults.refusal import Refusal
from pinbench_probe.opened import step
from pinbench_probe.opened.endless import shuffled_epochs
from pinbench_probe.opened.opening import Opening
from pinbench_probe.opened.page_cache import ColdFolder
from pinbench_probe.opened.source import Source
from pinbench_probe.timed.consumers import HostConsumer
from pinbench_probe.worker_start import WorkerStart


class SourceTest(unittest.TestCase):
    def source(self, length, **arguments):
        return Source(DataLoader(support.Numbers(length), **arguments), None, "/nowhere")

    def test_what_the_script_s_loader_sets_is_that_of_trials_too(self):
        generator = torch.Generator()
        given = {"timeout": 7, "multiprocessing_context": "spawn", "num_workers": 1}
        source = self.source(10, batch_size=4, drop_last=True, generator=generator, collate_fn=list, **given)
        for workers in (0, 2):
            loader = source.loader(workers)
            self.assertEqual((loader.batch_size, loader.drop_last), (4, True))
            self.assertIs(loader.generator, generator)
            self.assertIs(loader.collate_fn, list)
            # DataLoader accepts none of these without workers.
            self.assertEqual(loader.timeout, 7 if workers > 0 else 0)
            context = loader.multiprocessing_context
            self.assertEqual(context and context.get_start_method(), "spawn" if workers > 0 else None)

    def test_a_loader_of_a_trial_has_the_trial_s_setting(self):
        loader = self.source(10, batch_size=4).loader(1, True, 5, True)
        found = (loader.num_workers, loader.pin_memory, loader.prefetch_factor, loader.persistent_workers)
        self.assertEqual(found, (1, True, 5, True))
        self.assertIsInstance(loader.worker_init_fn, WorkerStart)
        self.assertIs(loader.worker_init_fn.wrapped, False)

    def test_samples_come_in_the_order_of_the_script_s_sampler_and_shuffled_without_one(self):
        data = support.Numbers(6)
        shuffled = list(shuffled_epochs(6)(0))
        self.assertNotIn(shuffled, (list(range(6)), list(shuffled_epochs(6)(1))))
        for made, order in (
            (data, shuffled),
            (DataLoader(data, batch_size=6), [0, 1, 2, 3, 4, 5]),
            (DataLoader(data, batch_size=6, shuffle=True), shuffled),
            (DataLoader(data, batch_size=3, sampler=[5, 1, 3]), [5, 1, 3]),
        ):
            source = Source(made, None if made is not data else 6, "/nowhere")
            self.assertEqual(next(iter(source.loader(0))).flatten().tolist(), order)

    def test_a_batch_is_no_larger_than_an_epoch_of_the_sampler(self):
        for length, sampler, size, note in (
            (4, None, 4, []),
            (1, None, 1, ["An epoch has 1 sample, so batches have that many instead of 4."]),
            (9, [3, 5], 2, ["An epoch has 2 samples, so batches have that many instead of 4."]),
        ):
            source = self.source(length, batch_size=4, sampler=sampler)
            self.assertEqual((source.batch_size, source.notes(), source.epoch_batches()), (size, note, 1))

    def test_a_loader_of_another_kind_is_noted_and_a_search_begins_with_its_setting(self):
        class Own(DataLoader):
            pass

        class Chosen(list):
            pass

        made = Own(support.Numbers(4), batch_sampler=Chosen([[0], [1, 2]]), num_workers=1, persistent_workers=True)
        source = Source(made, None, "/nowhere")
        self.assertEqual(
            source.notes(),
            [
                "Own is measured as torch's own DataLoader with its settings.",
                "Batches are chosen by the DataLoader's own Chosen.",
            ],
        )
        self.assertEqual(self.source(4, batch_size=2).notes(), [])
        self.assertEqual((source.epoch_batches(), source.batch_size), (2, None))
        found = source.starting_point()
        self.assertEqual((found["persistentWorkers"], found["pinMemory"]), (True, False))
        self.assertIs(self.source(4, pin_memory=True).starting_point()["pinMemory"], True)
        self.assertIsNone(Source(support.Numbers(4), 2, "/nowhere").starting_point())

    def test_a_stream_has_no_end_and_workers_that_show_the_script_s_own(self):
        class Stream(IterableDataset):
            def __iter__(self):
                return iter(range(3))

        source = Source(Stream(), 2, "/nowhere")
        self.assertEqual(support.numbers_of(itertools.islice(source.loader(0), 3)), [[0, 1], [2, 0], [1, 2]])
        self.assertIs(source.loader(1).worker_init_fn.wrapped, True)
        self.assertIsNone(source.epoch_batches())


class HostConsumerTest(unittest.TestCase):
    def test_a_batch_arrives_before_its_step(self):
        events = []
        tell = types.SimpleNamespace(arrived=lambda _ns: events.append("arrived"))
        consumer = HostConsumer(lambda batch: events.append(batch), tell)
        for batch in (1, 2):
            consumer.take(batch)
        self.assertEqual(events, ["arrived", 1, "arrived", 2])


class ColdFolderTest(unittest.TestCase):
    def test_a_named_pipe_among_the_files_is_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(os.path.join(folder, "pipe"))
            os.symlink("nowhere", os.path.join(folder, "broken link"))
            opened = len(os.listdir("/proc/self/fd"))
            errors = []
            with mock.patch.object(threading, "excepthook", errors.append):
                dropping = threading.Thread(target=ColdFolder(folder).drop, args=[lambda: True], daemon=True)
                dropping.start()
                dropping.join(20)
            self.assertFalse(dropping.is_alive())
            self.assertEqual((errors, len(os.listdir("/proc/self/fd"))), ([], opened))


class LightningDataModule:
    def __init__(self):
        self.calls = []

    def prepare_data(self):
        self.calls.append("prepare_data")

    def setup(self, stage):
        self.calls.append(stage)


class OpeningTest(unittest.TestCase):
    def test_one_rank_of_a_node_prepares_the_data_and_each_sets_up_its_own(self):
        for is_first, calls in ((True, ["prepare_data", "fit"]), (False, ["fit"])):
            module = LightningDataModule()
            Opening(is_first, lambda: None).before(module, "module", "train_dataloader")
            self.assertEqual(module.calls, calls)

    def test_a_call_and_a_set_up_are_announced_and_one_that_ends_the_program_is_refused(self):
        announced = []
        opening = Opening(True, lambda: announced.append(1))
        opening.before(LightningDataModule(), "module", "train_dataloader")
        self.assertEqual(len(announced), 1)
        self.assertEqual(opening.finish(lambda: [2], "make"), [2])
        self.assertEqual(len(announced), 2)

        def exits():
            raise SystemExit(3)

        with self.assertRaisesRegex(Refusal, r"make failed: it called sys\.exit\(3\)"):
            Opening(True, lambda: None).finish(exits, "make")

    def test_a_function_that_does_not_say_what_it_takes_is_called_all_the_same(self):
        with mock.patch("inspect.signature", side_effect=ValueError):
            self.assertEqual(Opening(True, lambda: None).finish(lambda: [1], "make"), [1])

    def test_a_function_is_called_for_an_attribute_that_it_does_not_have_itself(self):
        def make():
            return types.SimpleNamespace(other=1)

        make.own = [1]
        before = Opening(True, lambda: None).before
        self.assertIs(before(make, "make", "own"), make)
        self.assertEqual(before(make, "make", "other").other, 1)

    def test_of_a_class_an_object_is_made_for_what_only_its_objects_have(self):
        class Holder:
            shared = [1]

            def __init__(self):
                self.own = [2]

            def method(self):
                pass

            @property
            def prop(self):
                return [3]

        before = Opening(True, lambda: None).before
        for name, is_made in (("shared", False), ("own", True), ("method", True), ("prop", True)):
            self.assertIs(before(Holder, "Holder", name) is Holder, not is_made, name)


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


def negative(batch_or_sample):
    return [-number for number in numbers(batch_or_sample)]


def negative_sample(sample):
    """It fails for a list of samples."""
    picture, label = sample
    return -picture, -label


def numbers(value):
    """All numbers of a batch, in order."""
    if isinstance(value, torch.Tensor):
        return value.flatten().tolist()
    return [value] if isinstance(value, int) else [number for item in value for number in numbers(item)]


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


class LoaderKindsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = folder.name
        silenced = warnings.catch_warnings()
        silenced.__enter__()
        self.addCleanup(silenced.__exit__, None, None, None)
        warnings.simplefilter("ignore")  # there is no GPU to pin memory for

    def source(self, loader, batch_size=None):
        return Source(loader, batch_size, self.scratch)

    def made(self, loader, count):
        iterator = iter(loader)
        return [numbers(batch) for batch in itertools.islice(iterator, count)]

    def test_trials_have_the_training_s_batches_with_workers_and_without(self):
        seen = 0
        for kind, loader in loaders():
            with self.subTest(kind=kind):
                source = self.source(loader)
                is_map = kind[0] == "Pairs"
                self.assertEqual(source.epoch_batches(), len(loader) if is_map else None)
                epoch = self.made(loader, None)
                # The end of one epoch and the start of the next may share a batch.
                whole = [batch for batch in epoch if len(batch) == len(epoch[0])]
                _, contents = first_batch(source)
                self.assertEqual(bool(contents.tensors), kind[4] is None)
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

    def test_a_loader_without_batches_gets_those_of_the_size_that_was_asked_for(self):
        plain = [[0, 0, 1, 10, 2, 20, 0, 1, 2], [3, 30, 4, 40, 5, 50, 3, 4, 5]]
        for data in (Pairs(SAMPLES), Stream()):
            for collate, sign in ((None, 1), (negative_sample, -1)):
                for workers in (0, 1):
                    given = DataLoader(data, batch_size=None, collate_fn=collate)
                    found = self.made(self.source(given, 3).loader(workers), 2)
                    self.assertEqual(found, [[sign * number for number in batch] for batch in plain])
