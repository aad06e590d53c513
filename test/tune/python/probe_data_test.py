"""What the probe does with data: batches of every kind, loaders that are given, files, and what is left behind."""

import collections
import os
import resource
import tempfile
import types
import unittest
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader, RandomSampler

from pinbench_probe import batch, descriptors, facts, generators, guard, leaves, worker_records
from pinbench_probe.faults import loop_faults
from pinbench_probe.opened import opening, page_cache, suggestions, target
from pinbench_probe.opened.endless import is_plain_shuffle
from pinbench_probe.opened.source import Source
from pinbench_probe.worker_start import WorkerStart

Pair = collections.namedtuple("Pair", "image label")


class Holder:
    def __init__(self, value):
        self.value = value


class Pinned(Holder):
    def pin_memory(self):
        return self

    def to(self, _device, non_blocking):
        return Pinned("there")


class BatchTest(unittest.TestCase):

    def test_a_copy_is_in_the_same_containers(self):
        found = batch.copy(Pair([Pinned(1)], {"a": "text"}), "cpu", False)
        self.assertIs(type(found), Pair)
        self.assertEqual((found.image[0].value, found.label), ("there", {"a": "text"}))

    def test_a_list_of_plain_values_has_them_all_up_to_a_limit(self):
        (found,) = leaves.leaves(list(range(10_000)), 9)
        self.assertEqual(found, list(range(leaves.MOST_VALUES)))


class LoaderTest(unittest.TestCase):
    def source(self, loader, batch_size=None):
        return Source(loader, batch_size, None, False, 0, "/nowhere")

    def test_a_size_that_was_asked_for_comes_before_that_of_the_loader(self):
        loader = DataLoader(support.Numbers(40), batch_size=2)
        self.assertEqual([self.source(loader, size).batch_size for size in (None, 8)], [2, 8])

    def test_trials_have_the_loader_s_own_start_of_workers(self):
        started = []
        loader = self.source(DataLoader(support.Numbers(4), worker_init_fn=started.append)).loader(1)
        self.assertIsInstance(loader.worker_init_fn, WorkerStart)
        loader.worker_init_fn.init_fn(3)
        self.assertEqual(started, [3])

    def test_a_search_begins_with_the_loader_s_own_setting_which_has_no_prefetch_without_workers(self):
        for workers, prefetch in ((0, None), (1, 3)):
            arguments = {} if workers == 0 else {"prefetch_factor": 3}
            loader = DataLoader(support.Numbers(4), num_workers=workers, **arguments)
            if workers == 0:
                loader.__dict__["prefetch_factor"] = 2  # as torch 1.13 has it
            found = self.source(loader).starting_point()
            self.assertEqual((found["numWorkers"], found["prefetchFactor"]), (workers, prefetch))

    def test_a_sampler_of_a_part_of_the_samples_is_no_plain_shuffle(self):
        data = support.Numbers(6)
        for sampler, is_plain in ((RandomSampler(data), True), (RandomSampler(data, num_samples=3), False)):
            self.assertIs(is_plain_shuffle(DataLoader(data, sampler=sampler)), is_plain)


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_a_record_is_taken_once(self):
        path = os.path.join(self.folder, "record")
        worker_records.write(path, [1])
        self.assertEqual([worker_records.take(path), worker_records.take(path)], [[1], None])

    def test_files_are_written_to_storage_before_they_are_dropped_for_the_first_time(self):
        for name in "abc":
            open(os.path.join(self.folder, name), "w").close()
        cold = page_cache.ColdFolder(self.folder)
        with mock.patch.object(page_cache.os, "fdatasync") as written, mock.patch.object(
            page_cache, "_ALIVE_SECONDS", -1
        ):
            cold.drop(lambda: False)  # only the first of them
            self.assertEqual(written.call_count, 1)
            cold.drop(lambda: True)
            cold.drop(lambda: True)
        self.assertEqual(written.call_count, 1 + 3)

    def test_a_descriptor_is_moved_below_the_limit_of_the_process(self):
        for soft, least in ((1024, 512), (4096, 1000), (resource.RLIM_INFINITY, 1000)):
            with mock.patch.object(descriptors.resource, "getrlimit", return_value=(soft, soft)), mock.patch.object(
                descriptors.fcntl, "fcntl", return_value=77
            ) as moved, mock.patch.object(descriptors.os, "close"):
                self.assertEqual(descriptors.move_high(5), 77)
            moved.assert_called_once_with(5, descriptors.fcntl.F_DUPFD_CLOEXEC, least)

    def test_a_child_closes_its_copy_of_a_descriptor_once(self):
        number = os.open(os.devnull, os.O_RDONLY)
        own = descriptors.Descriptor(number)
        own.close_in_child()
        self.assertEqual(os.open(os.devnull, os.O_RDONLY), number)
        own.close_in_child()
        os.close(number)  # it is still open

    def test_shared_memory_is_that_of_processes_that_have_ended_or_are_of_the_group(self):
        scratch = os.path.join(self.folder, "scratch")
        os.mkdir(scratch)
        removed = []
        groups = {1: None, 2: 50, 3: 60}
        for pid in (2, 3):
            open(os.path.join(scratch, "process-%d" % pid), "w").close()
        found = lambda pattern: (
            [pattern] if pattern.startswith("/dev/shm/torch_") else [] if "sem." in pattern else notes
        )
        notes = [os.path.join(scratch, "process-%d" % pid) for pid in (2, 3)]
        with mock.patch.object(guard.glob, "glob", found), mock.patch.object(
            guard, "_group_of", groups.get
        ), mock.patch.object(guard, "_unlink", removed.append):
            guard.clean_up(scratch, 1, 50)
        self.assertEqual(removed, ["/dev/shm/torch_1_*", "/dev/shm/torch_2_*"])
        self.assertFalse(os.path.exists(scratch))


class FaultsTest(unittest.TestCase):
    def describe(self, error, doing):
        workers = types.SimpleNamespace(fault=lambda _error: None)
        return loop_faults.describe(error, doing, support.setting(1), 0, workers)

    def test_what_ended_the_pinning_thread_is_told_of_the_trial_that_it_ended(self):
        ended = RuntimeError("Pin memory thread exited unexpectedly")
        loop_faults._pinning_errors[:] = [ValueError("it broke")]
        found = [self.describe(ended, loop_faults.LOADING)["message"] for _ in range(2)]
        self.assertEqual(["it broke" in message for message in found], [True, False])

    def test_only_a_start_fails_for_want_of_pickling(self):
        error = AttributeError("Can't pickle local object 'f.<locals>.g'")
        faults = [self.describe(error, doing)["fault"] for doing in (loop_faults.STARTING, loop_faults.LOADING)]
        self.assertEqual(faults, ["not-picklable", "dataset-raised"])


class TargetTest(unittest.TestCase):
    def test_a_number_is_an_index_or_else_a_key(self):
        for value, found in (([5, 6], 6), ({"1": 7}, 7), ({1: 8, "1": 9}, 8)):
            self.assertEqual(target._entry(value, "value", "[1]", "value is"), found)

    def test_loaders_for_training_are_suggested_first_and_entries_by_their_index(self):
        class Module:
            def a_dataloader(self):
                pass

            def train_dataloader(self):
                pass

        self.assertEqual(suggestions._parts(Module()), [".train_dataloader", ".a_dataloader"])
        self.assertEqual(suggestions._parts([1, support.Numbers(2)]), ["[1]"])

    def test_a_module_is_set_up_for_the_stage_of_the_loader(self):
        for name, stage in (("train", "fit"), ("val", "validate"), ("test", "test"), ("predict", "predict")):
            module = mock.Mock()
            opening.Opening({}, True, lambda: None)._set_up(module, "module", name + "_dataloader")
            module.setup.assert_called_once_with(stage)


class GeneratorsTest(unittest.TestCase):
    def test_numpy_s_numbers_are_kept_too(self):
        numbers = generators.of_numpy()
        if numbers is None:
            self.skipTest("NumPy is not loaded")
        before = numbers.get_state()
        with generators.kept():
            numbers.random_sample()
        self.assertTrue(generators.are_same(before, numbers.get_state()))


class FactsTest(unittest.TestCase):
    def test_a_batch_has_as_many_samples_as_the_loader_says_or_else_as_its_first_tensor(self):
        device = types.SimpleNamespace(name=None, is_cuda=False, notes=())
        for size, samples in ((8, 8), (None, 3)):
            source = mock.Mock(batch_size=size)
            source.notes.return_value = []
            found = facts.collect(source, batch.Contents(torch.zeros(3, 2)), device, None, None)
            self.assertEqual(found["batch"]["samples"], samples)
            self.assertGreater(found["processBytes"], 1 << 20)

    def test_notes_are_those_of_the_source_of_its_batches_and_of_the_gpu(self):
        gpu = types.SimpleNamespace(name="a GPU", is_cuda=True, notes=["of the GPU"])
        source = mock.Mock(batch_size=1)
        source.notes.return_value = ["of the source"]
        contents = batch.Contents([torch.zeros(1)])
        with mock.patch.object(facts, "place") as place, mock.patch.object(
            batch.Contents, "devices", ["cpu", "meta", "xla"]
        ):
            found = facts.collect(source, contents, gpu, "a link", 5)
            facts.collect(
                source,
                batch.Contents(torch.zeros(1)),
                types.SimpleNamespace(**{**vars(gpu), "is_cuda": False}),
                None,
                None,
            )
        self.assertEqual(place.call_args_list, [mock.call(True), mock.call(False)])
        self.assertEqual(
            (found["notes"][0], found["notes"][-1], len(found["notes"])), ("of the source", "of the GPU", 3)
        )
        self.assertEqual(found["workersOff"], "the batches are meta and xla tensors")
        self.assertEqual((found["device"], found["link"], found["stepNs"]), ("a GPU", "a link", 5))

    def test_the_limit_of_open_files_is_the_soft_one_which_applies(self):
        unlimited = resource.RLIM_INFINITY
        for limits, expected in (((1024, 4096), 1024), ((1024, unlimited), 1024), ((unlimited, unlimited), None)):
            with mock.patch.object(facts.resource, "getrlimit", lambda _: limits):
                self.assertEqual(facts._file_limit(), expected)
