"""What the probe does with data: batches of every kind, loaders that are given, files, and what is left behind."""

import collections
import os
import random
import resource
import tempfile
import types
import unittest
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler

from pinbench_probe import batch, descriptors, facts, generators, guard, leaves, making, sharding, worker_records
from pinbench_probe.faults import loop_faults
from pinbench_probe.opened import opening, page_cache, suggestions, target
from pinbench_probe.opened.endless import is_plain_shuffle
from pinbench_probe.opened.source import Source
from pinbench_probe.timed import usage
from pinbench_probe.worker_start import WorkerStart


Pair = collections.namedtuple("Pair", "image label")


class Held:
    def __init__(self, value):
        self.value = value


class Pinned(Held):
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
        return Source(loader, batch_size, "/nowhere")

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
            opening.Opening(True, lambda: None)._set_up(module, "module", name + "_dataloader")
            module.setup.assert_called_once_with(stage)


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


class Holder:
    def __init__(self, *values):
        self.values = list(values)


class Movable(Holder):
    """Copies itself, and pins nothing."""

    def to(self, device):
        return "on " + str(device)


class Pinnable(Holder):
    def pin_memory(self):
        return self


class ContentsTest(unittest.TestCase):
    def test_a_batch_is_described_by_its_first_tensors_and_where_they_are(self):
        tensors = [torch.zeros(2, dtype=torch.int64) for _ in range(8)] + [torch.zeros(3, device="meta")]
        found = batch.Contents({"a": tensors, "b": "text"})
        self.assertEqual(found.description(), " + ".join(["int64 [2]"] * 6 + ["3 more"]))
        self.assertEqual((found.bytes, found.devices), (8 * 16 + 12, ["cpu", "meta"]))
        self.assertEqual(batch.Contents(tensors[:6]).description(), " + ".join(["int64 [2]"] * 6))
        self.assertEqual(batch.Contents(["text"]).description(), "no tensors")

    def test_types_of_the_script_s_own_are_named_once_each_for_what_they_cannot(self):
        one = torch.zeros(1)
        for value, unpinnable, uncopyable, can_pin in (
            ([Holder(one), Holder(one)], ["Holder"], ["Holder"], False),
            (Movable(one), ["Movable"], [], False),
            (Pinnable(one), [], ["Pinnable"], True),
            # What is in a type that torch does not enter is none of its own.
            (Holder(Movable(one), Pinnable(one)), ["Holder"], ["Holder"], False),
            (Movable(Holder(one)), ["Movable"], ["Holder"], False),
            ([one, Holder("text")], [], [], True),
        ):
            found = batch.Contents(value)
            self.assertEqual((found.unpinnable, found.uncopyable, found.can_pin), (unpinnable, uncopyable, can_pin))

    def test_a_batch_without_an_end_has_one_for_the_probe(self):
        class Endless(collections.abc.Sequence):
            def __len__(self):
                return 1

            def __getitem__(self, index):
                return Endless() if index == 0 else (_ for _ in ()).throw(IndexError)

        self.assertEqual(batch.Contents([torch.zeros(1), Endless(), torch.zeros(1)]).bytes, 8)


class CopyTest(unittest.TestCase):
    def test_all_that_can_be_copied_is_and_a_container_that_cannot_be_made_again_becomes_a_plain_one(self):
        class Own(list):
            def __init__(self, *items):
                if items:
                    raise ValueError("it takes none")

        own = Own()
        own.append(torch.zeros(1))
        for value, expected in (
            (Movable(), "on meta"),
            (collections.OrderedDict(a=Movable()), collections.OrderedDict(a="on meta")),
            ((Movable(), b"text"), ("on meta", b"text")),
        ):
            self.assertEqual(batch.copy(value, "meta", True), expected)
        (found,) = batch.copy(own, "meta", True)
        self.assertEqual(found.device.type, "meta")
        asked = []
        with mock.patch.object(torch.Tensor, "to", lambda _self, device, non_blocking: asked.append(non_blocking)):
            for non_blocking in (True, False):
                batch.copy([torch.zeros(1)], "cpu", non_blocking)
        self.assertEqual(asked, [True, False])


class LeavesTest(unittest.TestCase):
    def test_values_are_found_in_their_order_in_containers_and_objects_down_to_a_depth(self):
        deep = 5
        for _ in range(20):
            deep = [deep, object()]
        found = list(leaves.leaves({"a": torch.zeros(1), "b": [Holder("c"), 1.5], "d": deep}, 100))
        self.assertTrue(torch.equal(found[0], torch.zeros(1)))
        self.assertEqual(found[1:3], [["c"], 1.5])
        # What lies deeper, and what has no values, is its type alone.
        self.assertEqual(found[3], list)
        self.assertEqual(set(found[4:]), {object})
        self.assertEqual(len(list(leaves.leaves([Holder(n) for n in range(9)], 4))), 4)

    def test_an_array_of_numpy_s_is_a_value_of_its_own(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("there is no NumPy")
        self.assertIs(leaves.is_array(numpy.zeros(2)), True)
        self.assertEqual([type(leaf) for leaf in leaves.leaves([numpy.zeros(2)], 9)], [numpy.ndarray])

    def test_a_list_is_plain_only_if_more_than_its_first_value_is(self):
        self.assertIs(leaves.is_plain_list([1, "a", None]), True)
        self.assertIs(leaves.is_plain_list([1, torch.zeros(1)]), False)


class GeneratorsTest(unittest.TestCase):
    def test_a_draw_from_any_generator_shows_and_is_undone(self):
        own = torch.Generator()
        for draw in (lambda: torch.rand(1), random.random, lambda: torch.rand(1, generator=own)):
            before = generators.states(own)
            with generators.kept(own):
                self.assertFalse(generators.have_moved(before, generators.states(own)))
                draw()
                self.assertTrue(generators.have_moved(before, generators.states(own)))
            self.assertFalse(generators.have_moved(before, generators.states(own)))

    def test_numpy_that_was_loaded_meanwhile_is_another_state(self):
        self.assertFalse(generators.are_same(None, ("MT19937", b"state")))
        self.assertTrue(generators.are_same(None, None))


class ShardingTest(unittest.TestCase):
    def test_batches_that_are_all_equal_tell_nothing_of_their_worker(self):
        same, other = [[2, "a"], [2, "b"]], [[2, "a"], [2, "c"]]
        self.assertIs(sharding.are_telling([same, same]), False)
        self.assertIs(sharding.are_telling([same, other]), True)
        # Parts that are missing in one of them are not compared.
        self.assertIs(sharding.are_alike([same, other], [same, other[:1]]), False)
        with tempfile.TemporaryDirectory() as folder:
            for pid in (1, 2):
                worker_records.write(sharding.file_of(folder, pid), [same, same])
            self.assertIsNone(sharding.sample_copies(folder, [1, 2]))
            with open(sharding.file_of(folder, 3), "w") as half:
                half.write("[[2, ")
            self.assertIsNone(worker_records.take(half.name))

    def test_parts_are_told_by_their_values_whatever_they_are(self):
        one, other = (
            [torch.zeros(2), [1, 2], "text", b"ab", object()],
            [torch.ones(2), [1, 3], "texts", b"ac", object()],
        )
        found = [sharding.parts(each) for each in (one, other)]
        self.assertEqual([count for count, _ in found[0]], [2, 2, 1, 1])
        for part, differing in zip(*found):
            self.assertNotEqual(part, differing)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(16))


class MakingTest(unittest.TestCase):
    def test_a_worker_without_figures_or_with_half_of_them_has_made_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "making-7"), "wb") as file:
                file.write(b"\0" * 8)
            self.assertEqual(making.totals(folder, [7, 8]), (0, 0))
            self.assertEqual(making.parts(folder, [7])["handedOver"], 0)
            # This process' own figures are no file.
            making.forget(folder, [os.getpid(), 7])
            self.assertEqual(os.listdir(folder), [])

    def test_workers_count_for_themselves_whatever_their_parent_has_made(self):
        with tempfile.TemporaryDirectory() as folder:
            making.install(folder)
            self.addCleanup(making.install, None)
            self.addCleanup(making.forget, folder, [os.getpid()])
            self.assertEqual(len(list(DataLoader(support.Numbers(8)))), 8)
            for dataset, batches in ((support.Numbers(8), 8), (Stream(), 16)):
                iterator = iter(DataLoader(dataset, num_workers=1))
                pids = [worker.pid for worker in iterator._workers]
                self.assertEqual(len(list(iterator)), batches)
                self.assertEqual(making.totals(folder, pids)[0], batches - 1)

    def test_without_room_for_their_figures_workers_make_their_batches_all_the_same(self):
        def begin(_worker):
            sharding.record("/no/such/folder")

        making.install("/no/such/folder")
        self.addCleanup(making.install, None)
        loader = DataLoader(Stream(), batch_size=4, num_workers=1, worker_init_fn=begin)
        self.assertEqual(len(list(loader)), 4)

    def test_an_observer_that_fails_is_not_asked_again_and_has_its_error(self):
        calls = []

        class Failing:
            error = None

            def before(self, fetcher):
                calls.append(fetcher)
                raise ValueError("it broke")

            def after(self, fetcher):
                pass

        observer = Failing()
        making.observe(observer)
        self.addCleanup(making.observe, None)
        fetch = making._timed(lambda fetcher: fetcher)
        for _ in range(2):
            fetch("a fetcher")
        self.assertEqual((len(calls), str(observer.error)), (1, "it broke"))
        making.forget("/nowhere", [os.getpid()])


class UsageTest(unittest.TestCase):
    def test_memory_of_a_process_is_in_bytes_and_unknown_where_the_kernel_does_not_count(self):
        files = {
            "/proc/self/smaps_rollup": "Rss: 9 kB\nAnonymous:        5 kB\n",
            "/proc/7/smaps_rollup": "Rss: 9 kB\n",
        }
        path = types.SimpleNamespace(exists=lambda path: path == "/proc/7")
        with mock.patch.object(usage, "_read", lambda path: files.get(path, "")), mock.patch.object(
            usage, "os", types.SimpleNamespace(path=path)
        ):
            self.assertEqual([usage.anonymous_bytes(of) for of in ("self", 7)], [5 * 1024, None])
            # One runs without being counted, one has ended.
            self.assertEqual([usage._private_bytes(pid) for pid in (7, 8)], [None, 0])
            self.assertIsNone(usage._read_bytes("self"))
        self.assertIsNone(usage._sum(iter([1, None, 2])))

    def test_pinned_memory_is_that_of_a_torch_that_counts_it_and_of_this_trial(self):
        keys = [
            "active_requests.allocated",
            "active_bytes.allocated",
            "active_requests.current",
            "active_requests.peak",
        ]
        reset = mock.Mock()
        for stats, has_gpu, counts in (
            (dict(zip(keys, (4, 400, 1, 2))), True, (4, 400, 1, 2)),
            (dict(zip(keys, (4, 400, 1, 2))), False, None),
            (dict(zip(keys[:3], (4, 400, 1))), True, None),
        ):
            cuda = types.SimpleNamespace(
                host_memory_stats=lambda: stats, is_available=lambda: has_gpu, reset_peak_host_memory_stats=reset
            )
            with mock.patch.object(usage, "torch", types.SimpleNamespace(cuda=cuda)):
                self.assertEqual(usage._pinned_counts(), counts)
                usage._reset_pinned_peak()
        self.assertEqual(reset.call_count, 2)
