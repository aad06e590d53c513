"""How a trial's failure is reported, and what is known of its batches."""

import errno
import os
import signal
import tempfile
import types
import unittest
from unittest import mock

import support  # noqa: F401
import torch
from torch._utils import ExceptionWrapper

from pinbench_tune import batch, facts, faults, workers

TWO, NONE = {"numWorkers": 2}, {"numWorkers": 0}


class DescribeTest(unittest.TestCase):
    def fault(self, error, doing=faults.LOADING, setting=TWO, batches=3, ended=()):
        processes = [types.SimpleNamespace(exitcode=code, join=lambda _seconds: None) for code in ended]
        return faults.describe(error, doing, setting, batches, processes)

    def test_a_limit_of_the_machine_is_told_by_the_words_of_the_kernel_torch_and_cuda_or_by_the_errno(self):
        for error, fault in (
            (RuntimeError("Cannot re-initialize CUDA in forked subprocess"), "device-tensors"),
            (RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"), "device-tensors"),
            (OSError(errno.EMFILE, "whatever"), "too-many-files"),
            (RuntimeError("received 0 items of ancdata"), "too-many-files"),
            (RuntimeError("unable to write to file </torch_1_2_3>"), "shared-memory-full"),
            (RuntimeError("unable to open shared memory object"), "shared-memory-full"),
            (RuntimeError("CUDA out of memory. Tried to allocate"), "out-of-memory"),
            (RuntimeError("CUDA error: out of memory"), "out-of-memory"),
            (RuntimeError("CUDA error: an illegal memory access was encountered"), "device-error"),
            (MemoryError("unable to allocate 5 GiB"), "out-of-memory"),
            (OSError(errno.ENOMEM, "whatever"), "out-of-memory"),
            (ValueError("a MemoryError of the past"), "dataset-raised"),
        ):
            self.assertEqual(self.fault(error)["fault"], fault, error)

    def test_a_worker_s_death_is_told_by_its_exit_code_and_one_that_failed_is_blamed(self):
        death = RuntimeError("DataLoader worker (pid(s) 1) exited unexpectedly")
        for codes, fault, message in (
            ((-signal.SIGBUS,), "shared-memory-full", "A worker died of a bus error: /dev/shm is full."),
            ((0, -signal.SIGABRT), "worker-killed", "A worker crashed in native code (SIGABRT)."),
            ((None, 0, -signal.SIGTERM, 0), "worker-killed", "A worker was killed (SIGTERM)."),
            ((-33,), "worker-killed", "A worker was killed (signal 33)."),
            ((-signal.SIGKILL,), "worker-killed", "A worker was killed (SIGKILL), most likely because memory ran out."),
            ((0, 3), "worker-killed", "A worker ended by itself, with exit code 3."),
            ((None, 0), "worker-killed", "A worker ended by itself, with exit code 0."),
        ):
            for error in (death, ConnectionResetError()):
                found = self.fault(error, ended=codes)
                self.assertEqual((found["fault"], found["message"]), (fault, message))
        self.assertEqual(self.fault(FileNotFoundError("a.jpg"), ended=(None, None))["fault"], "dataset-raised")

    def test_an_error_is_told_by_what_the_loop_was_doing(self):
        unpicklable = AttributeError("Can't get local object 'make.<locals>.<lambda>'")
        for error, doing, setting, fault, message in (
            (faults.DataEnded(), faults.LOADING, TWO, "data-ended", "The data ended after 3 batches, and gave nothing"),
            (unpicklable, faults.STARTING, TWO, "not-picklable", "The data set cannot be sent to a worker: Attr"),
            (TypeError("cannot pickle 'lock'"), faults.LOADING, TWO, "not-picklable", "A worker cannot send its batch: "),
            (ValueError("no"), faults.COPYING, TWO, "custom-batch", "The batch cannot be copied to the device: Value"),
            (ValueError("no"), faults.STEPPING, TWO, "step-raised", "The step failed: ValueError: no"),
            (ValueError("Caught X in pin memory thread"), faults.LOADING, TWO, "custom-batch", "The batch cannot be pinned"),
            (RuntimeError("DataLoader timed out after 5 seconds"), faults.LOADING, TWO, "hang", "No batch came in time"),
            (ValueError("no"), faults.LOADING, TWO, "dataset-raised", "The data set failed in a worker: ValueError: no."),
            (ValueError("no"), faults.LOADING, NONE, "dataset-raised", "The data set failed in the main process: Value"),
            (SystemExit(3), faults.LOADING, NONE, "dataset-raised", "The data set failed in the main process: it called sys"),
        ):
            found = self.fault(error, doing, setting)
            self.assertEqual(found["fault"], fault)
            self.assertTrue(found["message"].startswith(message), found["message"])
        self.assertIn("no batch in a worker", self.fault(faults.DataEnded(), batches=0)["message"])


class TracebackTest(unittest.TestCase):
    def raised(self, call):
        try:
            call()
        except BaseException as error:
            return faults.UserTraceback(error)

    def test_the_user_s_frames_are_told_and_the_innermost_is_the_place(self):
        def fails():
            torch.zeros(2).reshape(3)

        def compiled():
            compile("a b", __file__, "exec")

        found = self.raised(fails)
        self.assertTrue(found.place.endswith("faults_test.py:%d" % (fails.__code__.co_firstlineno + 1)))
        self.assertTrue(found.error.startswith("RuntimeError: shape"))
        self.assertIn("in fails\n", found.text)
        self.assertTrue(self.raised(compiled).place.endswith("faults_test.py:1"))

    def test_a_worker_s_error_is_that_of_its_text(self):
        def passed_on():
            try:
                raise ValueError("sample 3 is bad\nreally")
            except ValueError:
                ExceptionWrapper(where="in DataLoader worker process 0").reraise()

        found = self.raised(passed_on)
        self.assertEqual(found.error, "ValueError: sample 3 is bad")
        self.assertTrue(found.place.endswith("faults_test.py:%d" % (passed_on.__code__.co_firstlineno + 2)))

    def test_a_library_is_known_by_its_folder(self):
        for path, is_library in ((__file__, False), ("/no/such.py", True), (os.__file__, True), (torch.__file__, True)):
            self.assertIs(faults.is_library(path), is_library)


class Holder:
    def __init__(self, *values):
        self.values = list(values)


class Pinnable(Holder):
    def pin_memory(self):
        return self


class Movable(Holder):
    def to(self, device):
        return "on " + str(device)


class BatchTest(unittest.TestCase):
    def test_a_batch_is_described_by_its_first_tensors(self):
        tensors = [torch.zeros(2, dtype=torch.int64) for _ in range(8)] + [torch.zeros(3, device="meta")]
        found = batch.Contents({"a": tensors, "b": "text"})
        self.assertEqual(found.description(), " + ".join(["int64 [2]"] * 6 + ["3 more"]))
        self.assertEqual((found.bytes, found.devices, found.first_length()), (8 * 16 + 12, ["cpu", "meta"], 2))
        self.assertEqual(batch.Contents(["text"]).description(), "no tensors")

    def test_types_that_torch_cannot_pin_are_named(self):
        one = torch.zeros(1)
        endless = []
        endless.append(endless)
        for value, unpinnable, can_pin in (
            ([Holder(one), Holder(one)], ["Holder"], False),
            (Pinnable(one), [], True),
            (Holder(Pinnable(one)), ["Holder"], False),
            ([one, Holder("text"), endless], [], True),
        ):
            found = batch.Contents(value)
            self.assertEqual((found.unpinnable, found.can_pin), (unpinnable, can_pin))

    def test_batches_are_pinned_unless_something_is_against_it(self):
        for value, device, off in (
            (torch.zeros(1), "a GPU", None),
            (torch.zeros(1), None, "no GPU"),
            (torch.zeros(1, device="meta"), "a GPU", "the batches are meta tensors"),
            ("text", "a GPU", "the batches hold no tensors"),
            (Holder(torch.zeros(1)), "a GPU", "the batches are of the type Holder, which has no pin_memory()"),
        ):
            with mock.patch.object(facts, "_place"):
                self.assertEqual(facts.of_batch(batch.Contents(value), 1, device, "no GPU")["pinningOff"], off)

    def test_all_that_can_be_copied_is_in_the_same_containers_if_they_can_be_made(self):
        class Own(list):
            def __init__(self, *items):
                if items:
                    raise ValueError("it takes none")

        own = Own()
        own.append(torch.zeros(1))
        self.assertEqual(batch.copy({"a": (Movable(), b"text", 5)}, "meta", True), {"a": ("on meta", b"text", 5)})
        (found,) = batch.copy(own, "meta", True)
        self.assertEqual(found.device.type, "meta")

    def test_fingerprints_differ_if_a_value_does(self):
        one = [torch.zeros(2), {"a": [1, 2]}, "text", Holder(b"ab")]
        for other in (
            [torch.ones(2), *one[1:]], [one[0], {"a": [1, 3]}, *one[2:]], [*one[:2], "texts", one[3]], [*one[:3], Holder(b"c")]
        ):
            self.assertNotEqual(batch.fingerprint(one), batch.fingerprint(other))
        self.assertEqual(batch.fingerprint(one), batch.fingerprint(list(one)))
        self.assertEqual([count for count, _ in batch.fingerprint(one)], [2, 4])


class SampleCopiesTest(unittest.TestCase):
    """Of the first two batches of each worker: a part that is random, one of labels, and one that never changes."""

    def copies(self, labels, count=8):
        with tempfile.TemporaryDirectory() as folder:
            for pid, label in enumerate(labels):
                first = workers._First(folder)
                first._path = workers._first_file(folder, pid)
                for number in range(2):
                    first.note({"a": torch.rand(8), "b": [label + str(number)] * count, "c": torch.zeros(16)})
            return workers.sample_copies(folder, range(len(labels)))

    def test_workers_with_equal_labels_deliver_the_same_samples(self):
        for labels, copies in ((["x", "y"], 1), (["x", "x"], 2), (["x", "y", "x", "y"], 2), (["x"], None)):
            self.assertEqual(self.copies(labels), copies)
        # A few may be equal by chance.
        self.assertEqual(self.copies(["x", "x"], count=2), 1)
