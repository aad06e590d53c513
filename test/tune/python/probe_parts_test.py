"""Parts of the probe that are as they are on machines with a GPU, with little memory, or with other workers."""

import errno
import json
import os
import queue
import socket
import tempfile
import threading
import types
import unittest
from multiprocessing.process import current_process
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader, IterableDataset

from pinbench_probe import channel, descriptors, guard, making, sharding
from pinbench_probe.faults import failure, worker_faults
from pinbench_probe.faults.tracebacks import UserTraceback
from pinbench_probe.opened.endless import EndlessIterable
from pinbench_probe.timed import consumers, device, usage
from pinbench_probe.worker_start import WorkerStart


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


class DescriptorTest(unittest.TestCase):
    def test_a_number_is_ours_as_long_as_it_is_the_same_file(self):
        with tempfile.TemporaryFile() as one, tempfile.TemporaryFile() as other:
            own = descriptors.Descriptor(os.dup(one.fileno()))
            self.addCleanup(os.close, own.number)
            with mock.patch.object(descriptors.os, "_exit") as ended:
                own.check()
                ended.assert_not_called()
                os.dup2(other.fileno(), own.number)
                own.check()
            ended.assert_called_once_with(84)
            moved = descriptors.move_high(number := os.dup(one.fileno()))
            self.addCleanup(os.close, moved)
            self.assertIsNone(descriptors.file_of(number))
            self.assertEqual(descriptors.file_of(moved), descriptors.file_of(one.fileno()))


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(16))


class WorkerStartTest(unittest.TestCase):
    def test_a_worker_begins_with_all_that_the_probe_needs_of_it_and_shows_the_script_its_own_data_set(self):
        with tempfile.TemporaryDirectory() as folder:

            def begin(worker):
                name = type(torch.utils.data.get_worker_info().dataset).__name__
                open(os.path.join(folder, "%s of worker %d" % (name, worker)), "w").close()

            start = WorkerStart(begin, folder, wrapped=True)
            with mock.patch.dict(current_process()._config, tempdir=folder):
                loader = DataLoader(EndlessIterable(Stream()), batch_size=4, num_workers=2, worker_init_fn=start)
                iterator = iter(loader)
                pids = [worker.pid for worker in iterator._workers]
                for _ in range(8):
                    next(iterator)
                left = set(os.listdir(folder))
                made = making.totals(folder, pids)[0], making.parts(folder, pids)["collated"]
                copies = sharding.sample_copies(folder, pids)
                del iterator
        self.assertLessEqual(
            {
                "Stream of worker 0",
                "Stream of worker 1",
                "worker-0.stack",
                "worker-1.stack",
                *("process-%d" % pid for pid in pids),
            },
            left,
        )
        self.assertEqual(copies, 2)
        for count in made:
            self.assertGreaterEqual(count, 6)


class ChannelTest(unittest.TestCase):
    def setUp(self):
        own, self.pinbench = socket.socketpair()
        self.pinbench.settimeout(20)
        self.stopped = queue.Queue()
        ended = threading.Event()

        def end():
            ended.set()
            raise SystemExit  # of its thread

        with mock.patch.object(channel, "CONTROL", own.detach()):
            self.channel = channel.Channel(self.stopped.put)

        def close():
            with mock.patch.object(channel.guard, "end", end):
                self.pinbench.close()
                self.assertTrue(ended.wait(20))
            os.close(self.channel._socket.number)

        self.addCleanup(close)

    def heard(self, kind):
        """All messages up to the first one of a kind."""
        text = b""
        while not text.endswith(b"}\n") or b'"type": "%s"' % kind not in text.splitlines()[-1]:
            text += self.pinbench.recv(1 << 20)
        return [json.loads(line) for line in text.splitlines()]

    def test_commands_come_whole_and_in_their_order_and_an_end_of_a_trial_before_them(self):
        self.pinbench.sendall(b'{"type": "run", "trial": 1}\n{"type": "run", "trial": 2}\n{"type": "r')
        self.assertEqual([self.channel.next_command()["trial"] for _ in range(2)], [1, 2])
        self.pinbench.sendall(b'un", "trial": 3}\n{"type": "stop", "trial": 3}\n{"type": "exit"}\n')
        self.assertEqual(self.stopped.get(timeout=20), 3)
        self.assertEqual([self.channel.next_command()["type"] for _ in range(2)], ["run", "exit"])

    def test_each_arrival_is_told_once_and_before_what_is_said_after_it(self):
        for _ in range(2):
            for ns in (1, 2, 3):
                self.channel.arrived(ns)
            self.channel.flush_arrivals()
            self.channel.flush_arrivals()
        self.channel.send("ending")
        *arrivals, _ = self.heard(b"ending")
        self.assertEqual([ns for each in arrivals for ns in each["ns"]], [1, 2, 3] * 2)
        self.assertNotIn([], [each["ns"] for each in arrivals])

    def test_what_is_longer_than_the_connection_holds_comes_whole(self):
        sending = threading.Thread(target=self.channel.send, args=("ready",), kwargs={"text": "x" * 3_000_000})
        sending.start()
        (ready,) = self.heard(b"ready")
        sending.join()
        self.assertEqual(len(ready["text"]), 3_000_000)

    def test_arrivals_that_are_awaited_are_looked_for_again_until_none_is(self):
        looks = iter((True, True, False))

        def collect():
            self.channel._arrivals.append(1)
            return next(looks)

        self.channel.collect_from(collect)
        self.channel.expect()
        found = []
        while len(found) < 3:
            for told in self.heard(b"arrivals"):
                found += told["ns"]
        self.assertEqual(found, [1, 1, 1])


class GuardTest(unittest.TestCase):
    """Processes as /proc has them: (number, state, parent, group)."""

    def setUp(self):
        self.processes = {5: (b"S", 1, 50), 6: (b"Z", 5, 50), 7: (b"R", 50, 60), 8: (b"S", 1, 50)}
        self.sent = []
        self.commands = {8: b"python\0-c\0from multiprocessing.resource_tracker import main"}

        def read(pid, file):
            found = self.processes.get(int(pid))
            if file == "cmdline":
                return self.commands.get(int(pid), b"python")
            return b"" if found is None else b"%d (a (name) S) %s %d %d" % (int(pid), *found)

        listed = lambda _: [*map(str, self.processes), "self"]
        for name, value in (
            ("_read", read),
            ("_send", lambda kill, target, number: self.sent.append((kill, target, number))),
        ):
            patched = mock.patch.object(guard, name, value)
            patched.start()
            self.addCleanup(patched.stop)
        patched = mock.patch.object(guard.os, "listdir", listed)
        patched.start()
        self.addCleanup(patched.stop)

    def test_members_of_a_group_are_those_that_run(self):
        self.assertEqual(guard._members(50), [5, 8])

    def test_the_keepers_of_shared_memory_end_last(self):
        with mock.patch.object(guard, "_until_gone"):
            guard._end_group(50)
        killpg, kill, number = os.killpg, os.kill, guard.signal
        self.assertEqual(
            self.sent, [(killpg, 50, number.SIGTERM), (kill, 5, number.SIGKILL), (killpg, 50, number.SIGKILL)]
        )

    def test_whatever_the_folder_is_called_shared_memory_of_its_processes_is_removed(self):
        # Beyond any process id of Linux.
        pids = (1 << 30, (1 << 30) + 1)
        paths = ["/dev/shm/torch_%d_pinbench" % pid for pid in pids]
        with tempfile.TemporaryDirectory() as folder:
            scratch = os.path.join(folder, "[x]")
            os.mkdir(scratch)
            for path in (*paths, os.path.join(scratch, "process-%d" % pids[1])):
                open(path, "w").close()
            # It has no group.
            with mock.patch.object(guard.os, "getpgid", side_effect=ProcessLookupError):
                guard.clean_up(scratch, pids[0], 50)
            self.assertEqual([os.path.exists(path) for path in (*paths, scratch)], [False] * 3)

    def test_the_guard_is_for_its_own_group_alone_and_the_process_lets_go_of_its_life_line(self):
        with mock.patch.dict(os.environ, PINBENCH_PROBE_SCRATCH="/scratch"), mock.patch.multiple(
            guard, _guard=mock.DEFAULT, die_with_parent=mock.DEFAULT
        ) as own, mock.patch.multiple(
            guard.os,
            fork=mock.DEFAULT,
            close=mock.DEFAULT,
            _exit=mock.DEFAULT,
            getpgrp=mock.DEFAULT,
            getsid=mock.DEFAULT,
        ) as system:
            system["getpgrp"].return_value = 50
            system["_exit"].side_effect = SystemExit
            for session, group in ((50, 50), (40, None)):
                system["getsid"].return_value = session
                system["fork"].return_value = 0
                self.assertRaises(SystemExit, guard.start)
                self.assertEqual(own["_guard"].call_args.args, (os.getpid(), group, "/scratch"))
            own["die_with_parent"].assert_not_called()
            system["fork"].return_value = 7
            guard.start()
            system["close"].assert_called_once_with(4)
            own["die_with_parent"].assert_called_once_with()

    def test_the_guard_ends_all_if_pinbench_has_not_cleaned_up_itself(self):
        for read, group, ended, cleaned in (
            ([b"x"], 50, False, False),
            ([b""], 50, True, True),
            (ConnectionResetError, 50, True, True),
            ([b""], None, False, True),
        ):
            with mock.patch.multiple(guard, _end_group=mock.DEFAULT, clean_up=mock.DEFAULT) as own, mock.patch.multiple(
                guard.os, setpgid=mock.DEFAULT, open=mock.DEFAULT, dup2=mock.DEFAULT, read=mock.Mock(side_effect=read)
            ):
                guard._guard(7, group, "/scratch")
            self.assertEqual((own["_end_group"].called, own["clean_up"].called), (ended, cleaned))
            if cleaned:
                own["clean_up"].assert_called_once_with("/scratch", 7, group)

    def test_a_process_whose_parent_has_ended_meanwhile_ends_too(self):
        for parents, ended in (((5, 5), False), ((5, 1), True), ((5, 40), True)):
            with mock.patch.object(guard.ctypes, "CDLL"), mock.patch.object(
                guard.os, "getppid", side_effect=parents
            ), mock.patch.object(guard.os, "_exit") as exited:
                guard.die_with_parent()
            self.assertEqual(exited.called, ended)

    def test_semaphores_begin_with_what_is_removed_at_the_end(self):
        config = current_process()._config
        with mock.patch.dict(config):
            guard.keep_in("/tmp/pinbench-abc")
            self.assertEqual((config["tempdir"], config["semprefix"]), ("/tmp/pinbench-abc", "/pinbench-abc"))
        # multiprocessing puts the hyphen.
        self.assertEqual(guard.semaphore_prefix("/tmp/pinbench-abc"), "pinbench-abc-")

    def test_a_child_leaves_its_number_where_there_is_a_folder_for_it(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(guard, "die_with_parent") as dies:
            for config in ({"tempdir": folder}, {}, {"tempdir": "/no/such/folder"}):
                with mock.patch.dict(current_process()._config, config, clear=True):
                    guard.begin_child()
            self.assertEqual(os.scandir(folder).__next__().name, "process-%d" % os.getpid())
            self.assertEqual(dies.call_count, 3)
