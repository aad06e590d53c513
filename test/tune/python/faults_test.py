"""What the probe says of a failure: the machine's limits, a worker's death, the data set, the step, and their tracebacks."""

import errno
import json
import os
import re
import signal
import tempfile
import threading
import types
import unittest
from unittest import mock

import support
import torch

from pinbench_probe import facts, serve, worker_start
from pinbench_probe.batch import Contents
from pinbench_probe.faults import failure, loop_faults, tracebacks, worker_faults
from pinbench_probe.faults.refusal import Refusal
from pinbench_probe.timed.workers import Workers


class SystemTest(unittest.TestCase):
    def test_a_limit_of_the_machine_is_told_by_the_words_of_the_kernel_of_torch_and_of_cuda(self):
        for text, fault in (
            ("RuntimeError: Cannot re-initialize CUDA in forked subprocess", "device-tensors"),
            (
                "RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
                "device-tensors",
            ),
            ("OSError: [Errno 24] Too many open files", "too-many-files"),
            ("RuntimeError: received 0 items of ancdata", "too-many-files"),
            ("RuntimeError: unable to write to file </torch_1_2_3>", "shared-memory-full"),
            ("RuntimeError: unable to open shared memory object", "shared-memory-full"),
            ("It is possible that dataloader's workers are out of shared memory(shm)", "shared-memory-full"),
            ("OutOfMemoryError: CUDA out of memory. Tried to allocate", "out-of-memory"),
            ("RuntimeError: CUDA error: out of memory", "out-of-memory"),
            ("RuntimeError: CUDA error: an illegal memory access was encountered", "device-error"),
            ("RuntimeError: CUDA driver error: unknown error", "device-error"),
            ("RuntimeError: cudaErrorLaunchFailure", "device-error"),
            ("RuntimeError: CUBLAS_STATUS_EXECUTION_FAILED", "device-error"),
            ("MemoryError: unable to allocate 5 GiB", "out-of-memory"),
            ("RuntimeError: can't allocate memory: you tried to", "out-of-memory"),
            ("OSError: [Errno 12] Cannot allocate memory", "out-of-memory"),
            ("ValueError: a MemoryError of the past", None),
        ):
            found = failure.of_system(text, None)
            self.assertEqual(found and found["fault"], fault, text)
            # Its context is lost.
            self.assertIs(bool(found and found["broken"]), fault == "device-error", text)


class WorkerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = folder.name

    def describe(self, exit_code, for_memory=None):
        usage = types.SimpleNamespace(oom_killed=lambda: for_memory)
        found = worker_faults.describe(7, exit_code, usage, self.scratch)
        return found["fault"], found["message"]

    def test_a_death_is_told_by_its_exit_code(self):
        for exit_code, fault, message in (
            (None, "worker-killed", "A worker ended for an unknown reason."),
            (-signal.SIGBUS, "shared-memory-full", "A worker died of a bus error: /dev/shm is full."),
            (-signal.SIGABRT, "worker-killed", "A worker crashed in native code (SIGABRT)."),
            (-signal.SIGFPE, "worker-killed", "A worker crashed in native code (SIGFPE)."),
            (-signal.SIGILL, "worker-killed", "A worker crashed in native code (SIGILL)."),
            (-signal.SIGTERM, "worker-killed", "A worker was killed (SIGTERM)."),
            (-33, "worker-killed", "A worker was killed (signal 33)."),
        ):
            self.assertEqual(self.describe(exit_code), (fault, message))

    def test_a_kill_is_the_kernel_s_for_memory_only_if_it_has_counted_one(self):
        for for_memory, message in (
            (True, "The kernel killed"),
            (None, "most likely because"),
            (False, "counted no kill"),
        ):
            self.assertIn(message, self.describe(-signal.SIGKILL, for_memory)[1])

    def test_of_a_batch_that_cannot_be_sent_the_last_line_of_its_error_is_told(self):
        lost = ("not-picklable", "A worker cannot send its batch: its error is lost.")
        self.assertEqual(self.describe(worker_start.UNSENDABLE), lost)
        for text, fault in (
            ("Traceback:\n  a line\nTypeError: cannot pickle this.\n", "not-picklable"),
            ("Traceback:\nRuntimeError: unable to write to file </torch_1>\n", "shared-memory-full"),
        ):
            with open(worker_start.unsendable_file(self.scratch, 7), "w") as file:
                json.dump({"type": "TypeError", "text": text}, file)
            found = self.describe(worker_start.UNSENDABLE)
            self.assertEqual(found[0], fault)
        with open(worker_start.unsendable_file(self.scratch, 7), "w") as file:
            file.write("half of")
        self.assertEqual(self.describe(worker_start.UNSENDABLE), lost)

    def fault(self, error, *exit_codes):
        workers = Workers(types.SimpleNamespace(oom_killed=lambda: None), self.scratch)
        processes = [types.SimpleNamespace(pid=i, exitcode=code) for i, code in enumerate(exit_codes)]
        workers.watch(types.SimpleNamespace(_workers=processes))
        with mock.patch("pinbench_probe.timed.workers._EXIT_SECONDS", 0):
            return workers.fault(error)

    def test_an_error_is_a_worker_s_death_if_torch_says_so_or_one_has_died(self):
        said = RuntimeError("DataLoader worker (pid 5) is killed by signal: Killed. ")
        around = ValueError("it broke")
        around.__cause__ = said
        within = ValueError("it broke")
        within.__context__ = said
        for error in (said, around, within):
            self.assertIn("SIGKILL", self.fault(error)["message"])
        for error in (ConnectionResetError(), EOFError(), FileNotFoundError()):
            self.assertIn("SIGSEGV", self.fault(error, None, -signal.SIGSEGV)["message"])
            self.assertIsNone(self.fault(error, None))
        self.assertIsNone(self.fault(ValueError("it broke"), -signal.SIGSEGV))

    def test_the_news_of_a_death_may_come_a_little_later_than_its_error(self):
        class Late:
            pid, looks = 7, 0

            @property
            def exitcode(self):
                self.looks += 1
                return None if self.looks < 3 else -signal.SIGSEGV

        workers = Workers(None, self.scratch)
        workers.watch(types.SimpleNamespace(_workers=[Late()]))
        with mock.patch("pinbench_probe.timed.workers._EXIT_SECONDS", 60):
            self.assertIn("SIGSEGV", workers.fault(EOFError())["message"])

    def test_workers_without_a_process_yet_have_no_number_and_are_not_killed(self):
        workers = Workers(None, self.scratch)
        killed = []
        processes = [
            types.SimpleNamespace(pid=pid, exitcode=code, join=lambda _: None)
            for pid, code in ((None, None), (5, 0), (6, None))
        ]
        workers.watch(types.SimpleNamespace(_workers=processes))
        self.assertEqual(workers.pids(), [5, 6])
        with mock.patch.object(os, "kill", lambda pid, number: killed.append((pid, number))):
            workers.end()
        self.assertEqual(killed, [(6, signal.SIGKILL)])
        self.assertEqual(workers.pids(), [])


class LoopTest(unittest.TestCase):
    def describe(self, error, doing=loop_faults.LOADING, workers=1, batches=3):
        try:
            raise error
        except BaseException as raised:
            asked = types.SimpleNamespace(fault=lambda _: None)
            found = loop_faults.describe(raised, doing, support.setting(workers), batches, asked)
        return (
            found["fault"],
            re.sub(r" \(\S*faults_test\.py:\d+\)|\.$", "", found["message"]),
            found["traceback"] is not None,
        )

    def test_an_error_is_told_by_what_the_loop_was_doing(self):
        broken, unpicklable = ValueError("it broke"), AttributeError("Can't get attribute 'f' on <module>")
        pinning = RuntimeError("Caught TypeError in pin memory thread for device 0.")
        ended = loop_faults.DataEnded()
        for error, doing, workers, batches, expected in (
            (
                broken,
                loop_faults.LOADING,
                1,
                3,
                ("dataset-raised", "The data set failed in a worker: ValueError: it broke", True),
            ),
            (
                broken,
                loop_faults.LOADING,
                0,
                3,
                ("dataset-raised", "The data set failed in the main process: ValueError: it broke", True),
            ),
            (broken, loop_faults.STEPPING, 0, 3, ("step-raised", "The step failed: ValueError: it broke", True)),
            (
                broken,
                loop_faults.COPYING,
                0,
                3,
                ("custom-batch", "The batch cannot be copied to the device: ValueError: it broke", True),
            ),
            (
                pinning,
                loop_faults.LOADING,
                1,
                3,
                ("custom-batch", "The batch cannot be pinned: RuntimeError: " + str(pinning)[:-1], False),
            ),
            (
                unpicklable,
                loop_faults.STARTING,
                1,
                0,
                ("not-picklable", "The data set cannot be sent to a worker: AttributeError: " + str(unpicklable), True),
            ),
            (SystemExit(5), loop_faults.LOADING, 0, 3, ("dataset-raised", "The data set called sys.exit(5)", False)),
            (
                RuntimeError("DataLoader timed out after 5 seconds"),
                loop_faults.LOADING,
                1,
                3,
                ("hang", "No batch came in time: RuntimeError: DataLoader timed out after 5 seconds", False),
            ),
            (ended, loop_faults.LOADING, 1, 0, ("data-ended", "The data set gives no batch in a worker", False)),
            (ended, loop_faults.LOADING, 0, 0, ("data-ended", "The data set gives no batch a second time", False)),
            (
                ended,
                loop_faults.LOADING,
                1,
                1,
                ("data-ended", "The data ended after 1 batches, and gave nothing when it was restarted", False),
            ),
            (
                OSError(errno.EMFILE, "no more"),
                loop_faults.LOADING,
                1,
                3,
                ("too-many-files", "The batches under way need more open files than are allowed", True),
            ),
            (
                OSError(errno.ENOSPC, "no space"),
                loop_faults.LOADING,
                1,
                3,
                ("dataset-raised", "The data set failed in a worker: OSError: [Errno 28] no space", True),
            ),
        ):
            self.assertEqual(self.describe(error, doing, workers, batches), expected)

    def test_a_worker_s_death_comes_before_all_else_and_a_pinning_error_only_where_its_thread_has_ended(self):
        died = types.SimpleNamespace(fault=lambda _: {"fault": "worker-killed"})
        found = loop_faults.describe(OSError(errno.EMFILE, "no"), loop_faults.LOADING, support.setting(1), 1, died)
        self.assertEqual(found["fault"], "worker-killed")
        loop_faults._pinning_errors[:] = [KeyError("of the pinning thread")]
        self.assertIn("it broke", self.describe(ValueError("it broke"))[1])

    def test_of_errors_of_threads_the_last_one_of_the_pinning_thread_is_remembered_and_each_is_said_as_before(self):
        def _pin_memory_loop(text):
            raise KeyError(text)

        said = []
        self.addCleanup(loop_faults._pinning_errors.clear)
        with mock.patch.object(threading, "excepthook", said.append):
            loop_faults.remember_pinning_errors()
            for raising, text in ((_pin_memory_loop, "a"), (_pin_memory_loop, "b"), (int, "of another")):
                try:
                    raising(text)
                except (KeyError, ValueError) as error:
                    arguments = types.SimpleNamespace(exc_value=error, exc_traceback=error.__traceback__)
                    threading.excepthook(arguments)
        self.assertEqual(len(said), 3)
        self.assertEqual([str(error) for error in loop_faults._pinning_errors], ["'b'"])

    def test_no_space_is_that_for_semaphores_where_these_are_made(self):
        class Frames:
            text, place, error = "", None, "OSError: [Errno 28] No space left on device"
            last_file = "/usr/lib/python3/multiprocessing/synchronize.py"

        with mock.patch.object(loop_faults, "UserTraceback", lambda _: Frames):
            self.assertEqual(self.describe(OSError(errno.ENOSPC, "no"))[0], "shared-memory-full")
            Frames.last_file = "/usr/lib/torch/utils/data/_utils/pin_memory.py"
            self.assertEqual(self.describe(OSError(errno.ENOSPC, "no"))[0], "custom-batch")


class FirstBatchTest(unittest.TestCase):
    def test_what_keeps_the_first_batch_from_being_made_is_a_refusal(self):
        def exits():
            raise SystemExit(3)
            yield

        for batches, message in ((exits(), "sys.exit(3)"), (iter([]), "The data set gives no batch.")):
            with self.assertRaises(Refusal) as refused:
                facts.first_batch(types.SimpleNamespace(loader=lambda _: batches))
            self.assertEqual(refused.exception.kind, "measurement")
            self.assertIn(message, refused.exception.message)

    def test_what_keeps_batches_from_being_pinned_or_made_by_workers(self):
        class Holder:
            def __init__(self):
                self.value = torch.zeros(1)

            def to(self, *_):
                return self

        on_gpu = types.SimpleNamespace(is_cuda=True)
        tensors, meta, nothing, holder = (
            Contents(each)
            for each in (
                torch.zeros(1),
                [torch.zeros(1), torch.zeros(1, device="meta")],
                ["text"],
                [Holder(), Holder()],
            )
        )
        for contents, device, off in (
            (tensors, on_gpu, None),
            (tensors, types.SimpleNamespace(is_cuda=False), "torch sees no GPU"),
            (meta, on_gpu, "the batches are meta tensors"),
            (nothing, on_gpu, "the batches hold no tensors"),
            (holder, on_gpu, "the batches are of the type Holder, which has no pin_memory()"),
        ):
            self.assertEqual(facts._pinning_off(contents, device), off)
        self.assertEqual(facts._notes(tensors, None), [])
        self.assertEqual(
            facts._notes(nothing, None), ["The batches hold no visible tensors: there is nothing to copy."]
        )
        self.assertEqual(len(facts._notes(holder, None)), 1)
        for strategy, files in (("file_descriptor", 2), ("file_system", 0)):
            with mock.patch.object(torch.multiprocessing, "get_sharing_strategy", lambda: strategy):
                self.assertEqual(facts._files_per_batch(meta), files)


class TorchTest(unittest.TestCase):
    def test_a_torch_that_is_missing_too_old_or_broken_is_refused(self):
        for version, is_refused in (("1.12.1", True), ("1.13.0", False), ("2.0.0a0+git", False), ("0.4.1", True)):
            with mock.patch.dict("sys.modules", torch=types.SimpleNamespace(__version__=version)):
                if not is_refused:
                    serve.check_torch()
                    continue
                with self.assertRaisesRegex(Refusal, "torch %s is too old" % version):
                    serve.check_torch()
        for error, message in (
            (ModuleNotFoundError("No module named 'torch'", name="torch"), r"has no torch\.$"),
            (ImportError("libc10.so: cannot open."), r"cannot import torch: libc10\.so: cannot open\.$"),
        ):
            with mock.patch("builtins.__import__", side_effect=error), self.assertRaisesRegex(
                Refusal, message
            ) as refused:
                serve.check_torch()
            self.assertEqual(refused.exception.kind, "unavailable")


class TracebackTest(unittest.TestCase):
    def test_a_place_is_relative_below_the_current_folder_alone_and_without_one_as_it_is(self):
        here = os.path.join(os.getcwd(), "a", "b.py")
        self.assertEqual(tracebacks.shorten(here), os.path.join("a", "b.py"))
        self.assertEqual(tracebacks.shorten("/elsewhere/b.py"), "/elsewhere/b.py")
        with mock.patch.object(tracebacks.os.path, "relpath", side_effect=FileNotFoundError):
            self.assertEqual(tracebacks.shorten(here), here)

    def test_the_place_of_a_syntax_error_is_its_own(self):
        with self.assertRaises(SyntaxError) as raised:
            compile("a =\n", "/of-the-user/train.py", "exec")
        found = tracebacks.UserTraceback(raised.exception)
        self.assertEqual(
            (found.place, found.text.split("\n")[0]),
            ("/of-the-user/train.py:1", '  File "/of-the-user/train.py", line 1'),
        )

    def test_an_error_within_a_library_has_the_place_from_which_that_was_called(self):
        try:
            json.loads("{")
        except ValueError as error:
            found = tracebacks.UserTraceback(error)
        self.assertRegex(found.place, r"faults_test\.py:\d+$")
        self.assertIn("decoder.py", found.text)

    def test_of_errors_one_after_another_the_last_one_counts(self):
        def first():
            raise KeyError("a")

        def second():
            try:
                first()
            except KeyError:
                raise ValueError("b\nmore of it")

        try:
            second()
        except ValueError as error:
            found = tracebacks.UserTraceback(error)
        self.assertEqual(found.error, "ValueError: b")
        self.assertTrue(found.place.endswith(":%d" % (second.__code__.co_firstlineno + 4)), found.place)
        refusal = tracebacks.refuse_for(SystemExit(3), "It failed", hint="a hint")
        self.assertEqual(
            (refusal.message, refusal.kind, refusal.hint),
            ("It failed: it called sys.exit(3).", "measurement", "a hint"),
        )

    def of_worker(self, *lines):
        """What is read of an error that torch has made from a worker's."""
        said = "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        return tracebacks.UserTraceback(RuntimeError(said + "\n".join(lines) + "\n"))

    def test_of_a_worker_s_error_the_frames_of_the_script_are_told_and_the_place_is_that_of_the_last_one(self):
        torchs = '  File "%s/worker.py", line 309, in _worker_loop\n    data = fetch()' % os.path.dirname(
            torch.__file__
        )
        users = '  File "%s", line %d, in make\n    raise'
        again = "\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):"
        found = self.of_worker(
            users % (__file__, 12),
            torchs,
            "KeyError: 'a'",
            again,
            torchs,
            users % (__file__, 15),
            "ValueError: b",
            "more",
        )
        self.assertEqual(found.error, "ValueError: b")
        self.assertRegex(found.place, r"faults_test\.py:15$")
        self.assertNotIn("_worker_loop", found.text)
        self.assertIn("KeyError: 'a'", found.text)
        # The last one has no place of the script's.
        self.assertIsNone(self.of_worker(users % (__file__, 12), "KeyError: 'a'", again, torchs, "ValueError: b").place)
        for lines in ((torchs, "ValueError: b"), ("ValueError: b",)):
            found = self.of_worker(*lines)
            self.assertEqual((found.text, found.error, found.place), ("ValueError: b", "ValueError: b", None))

    def test_a_library_is_known_by_its_folder(self):
        for path, is_library in (
            (__file__, False),
            ("/no/such/file.py", True),
            (os.__file__, True),
            (torch.__file__, True),
        ):
            self.assertIs(tracebacks._is_library(path), is_library)
