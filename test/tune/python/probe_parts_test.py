"""Parts of the probe that are as they are on machines with a GPU, with little memory, or with other workers."""

import errno
import types
import unittest
from unittest import mock

import support  # noqa: F401

from pinbench_probe import making, sharding
from pinbench_probe.faults import failure, worker_faults
from pinbench_probe.faults.tracebacks import UserTraceback
from pinbench_probe.opened.opening import Opening
from pinbench_probe.timed import consumers, device, usage


class FaultsTest(unittest.TestCase):
    def test_the_system_s_number_tells_a_fault_whatever_its_text(self):
        for number, fault in ((errno.EMFILE, "too-many-files"), (errno.ENOMEM, "out-of-memory"), (errno.EIO, None)):
            found = failure.of_system("OSError: it broke", number)
            self.assertEqual(found and found["fault"], fault)

    def test_torch_says_how_a_worker_ended(self):
        for said, told in (
            ("DataLoader worker (pid 7) is killed by signal: Killed. ", (7, -9)),
            ("DataLoader worker (pid 8) exited unexpectedly with exit code 3. Details are", (8, 3)),
            ("DataLoader worker (pid(s) 9) exited unexpectedly", (None, None)),
        ):
            self.assertEqual(worker_faults.as_torch_says(said), told)

    def test_the_place_of_an_error_is_the_innermost_of_the_user_s_code(self):
        def fails():
            raise ValueError("it broke")

        try:
            fails()
        except ValueError as error:
            self.assertTrue(UserTraceback(error).place.endswith(":%d" % (fails.__code__.co_firstlineno + 1)))


class ShardingTest(unittest.TestCase):
    def test_batches_of_two_workers_are_alike_if_all_parts_are_or_one_that_is_no_chance(self):
        def batches(*parts):
            return [[[values, "%s of batch %d" % (what, batch)] for values, what in parts] for batch in (1, 2)]

        for expected, one, other in (
            (True, [(2, "a")], [(2, "a")]),
            (False, [(1, "a")], [(1, "a")]),
            (False, [(7, "a"), (7, "b")], [(7, "a"), (7, "c")]),
            (True, [(8, "a"), (8, "b")], [(8, "a"), (8, "c")]),
        ):
            self.assertIs(sharding.are_alike(batches(*one), batches(*other)), expected, (one, other))


class MakingTest(unittest.TestCase):
    def test_handing_over_takes_what_the_thread_has_run_since_the_last_batch(self):
        clock = iter((5, 12, 13))
        making.forget("/nowhere", [making.os.getpid()])
        with mock.patch.object(making, "time", types.SimpleNamespace(thread_time_ns=lambda: next(clock))):
            sending = making._timed_sending(lambda _batch: None)
            for batch in range(3):
                sending(batch)
        parts = making.parts("/nowhere", [making.os.getpid()])
        making.forget("/nowhere", [making.os.getpid()])
        # All but the first.
        self.assertEqual((parts["handedOver"], parts["handOverNs"]), (2, 8))


class UsageTest(unittest.TestCase):
    def test_kills_are_those_of_the_own_control_group_or_else_of_all_that_there_is(self):
        events = "oom_kill 3\n"
        for cgroup, path in (
            ("0::/job\n", "/sys/fs/cgroup/job/memory.events"),
            ("0::/job\n", "/sys/fs/cgroup/memory.events"),
            ("5:cpu,memory:/job\n", "/sys/fs/cgroup/memory/job/memory.oom_control"),
            ("5:memory:/job\n", "/sys/fs/cgroup/memory/memory.oom_control"),
        ):
            files = {"/proc/self/cgroup": cgroup, path: events}
            with mock.patch.object(usage, "_read", lambda path: files.get(path, "")):
                self.assertEqual(usage._oom_kills(), 3, path)


class ConsumersTest(unittest.TestCase):
    """Of a GPU that copies in 5 ns, and whose clock is that of its events."""

    def setUp(self):
        self.now = 100
        self.copies = []
        self.elapsed_ms = []
        self.arrived = []

        class Event:
            def __init__(self, enable_timing=False):
                pass

            record = synchronize = lambda self: None
            query = lambda self: True
            elapsed_time = lambda _self, _done: self.elapsed_ms.pop(0)

        def copied(batch, _device, non_blocking):
            self.now += 5
            self.copies.append(non_blocking)
            return batch

        stream = types.SimpleNamespace(synchronize=lambda: None)
        cuda = types.SimpleNamespace(Event=Event, current_stream=lambda: stream)
        clock = types.SimpleNamespace(perf_counter_ns=lambda: self.now)
        patched = mock.patch.multiple(consumers, torch=types.SimpleNamespace(cuda=cuda), copy=copied, time=clock)
        patched.start()
        self.addCleanup(patched.stop)
        self.tell = types.SimpleNamespace(arrived=self.arrived.append, expect=lambda: None)

    def test_each_copy_counts_and_blocks_as_the_setting_says(self):
        for non_blocking in (False, True):
            consumer = consumers.BlockingConsumer("cuda", non_blocking, None, self.tell)
            for batch in range(3):
                consumer.take(batch)
            self.assertEqual(consumer.copy_ns, 15)
        self.assertEqual(self.copies, [False] * 3 + [True] * 3)
        self.assertEqual(self.arrived, [105, 110, 115, 120, 125, 130])

    def test_batches_arrive_in_their_order_and_none_in_the_future(self):
        consumer = consumers.OverlappingConsumer("cuda", True, None, self.tell)
        consumer.start()
        for batch in range(3):
            consumer.take(batch)
        self.now = 100 + 4_000_000
        self.elapsed_ms = [2, 1, 9]
        self.assertFalse(consumer.collect())
        self.assertEqual(self.arrived, [100 + 2_000_000, 100 + 2_000_000, 100 + 4_000_000])

    def test_an_error_is_the_step_s_only_while_it_runs(self):
        seen = []
        consumer = consumers.HostConsumer(lambda _batch: seen.append(consumer.is_in_step), self.tell)
        consumer.take(1)
        self.assertEqual((seen, consumer.is_in_step), ([True], False))


class DeviceTest(unittest.TestCase):
    def test_ranks_have_the_gpus_in_turn_and_share_them_if_there_are_fewer(self):
        for index, count, gpus, expected in ((5, 8, 2, (1, 8)), (1, 2, 2, (1, 1)), (3, 4, 8, (3, 1))):
            with mock.patch.multiple(
                device.torch.cuda, is_available=lambda: True, device_count=lambda: gpus, set_device=mock.DEFAULT
            ) as cuda, mock.patch.object(device, "CudaDevice") as made:
                device.find({"index": index, "count": count})
                cuda["set_device"].assert_called_once_with(expected[0])
                made.assert_called_once_with(shared_by=expected[1], count=gpus)


class OpeningTest(unittest.TestCase):
    def test_arguments_are_those_of_the_first_call_alone(self):
        calls = []

        def inner():
            calls.append("inner")
            return [1, 2]

        def outer(**kwargs):
            calls.append(kwargs)
            return types.SimpleNamespace(inner=inner)

        opening = Opening({"size": 1}, True, lambda: None)
        found = opening.before(outer, "outer", "inner")
        self.assertEqual(opening.finish(found.inner, "outer.inner"), [1, 2])
        self.assertEqual(calls, [{"size": 1}, "inner"])


if __name__ == "__main__":
    unittest.main()
