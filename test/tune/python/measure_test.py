"""A trial of the probe, the training loop that it plays on a GPU, and the connection to pinbench."""

import json
import multiprocessing
import os
import queue
import socket
import tempfile
import threading
import types
import unittest
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader

from pinbench_tune import channel, workers
from pinbench_tune.load.source import Source
from pinbench_tune.measure import consumers, trial, usage


class TrialTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.sent = []
        self.source = Source(DataLoader(support.Numbers(1000), batch_size=4), None, folder.name)
        self.folder = folder.name

    def run_trial(self, number, count, batches, step=None):
        """The messages of a trial that is asked to end after a number of batches."""
        sent = []
        to_pinbench = types.SimpleNamespace(
            send=lambda kind, **fields: sent.append((kind, fields)),
            collect_from=lambda collect: None,
            flush_arrivals=lambda: None,
            arrived=lambda ns: sent.append(("arrived", ns)),
        )
        arrived = lambda: sum(kind == "arrived" for kind, _ in sent)
        stop = types.SimpleNamespace(on_ask=None, waits_for_workers=False, asked=lambda _trial: arrived() >= batches)
        arguments = number, support.setting(count), self.source, consumers.HostDevice(), step, to_pinbench, stop
        trial.Trial(*arguments, self.folder).run()
        return sent

    def test_each_trial_tells_of_its_own_batches_alone_and_ends_its_workers(self):
        for number, (count, batches) in enumerate(((0, 5), (0, 3), (2, 6), (2, 4), (0, 2))):
            sent = self.run_trial(number, count, batches)
            self.assertEqual([kind for kind, _ in sent], ["arrived"] * batches + ["ending", "ended"])
            arrivals = [ns for kind, ns in sent if kind == "arrived"]
            self.assertEqual(arrivals, sorted(arrivals))
            ending = dict(sent)["ending"]
            self.assertIsNone(ending["failure"])
            self.assertEqual((ending["trial"], dict(sent)["ended"]["trial"]), (number, number))
            for figure in ("makeNsPerBatch", "collateNsPerBatch", "waitNsPerBatch"):
                self.assertGreater(ending["figures"][figure], 0)
            self.assertEqual(ending["figures"]["workerPrivateBytes"] > 0, count > 0)
            self.assertEqual(multiprocessing.active_children(), [])

    def test_a_step_that_fails_or_ends_the_program_is_named(self):
        def failing(_batch):
            raise SystemExit(3)

        self.assertEqual(dict(self.run_trial(1, 0, 3, failing))["ending"]["failure"]["fault"], "step-raised")

    def test_of_what_a_process_has_made_the_first_batch_is_left_out_if_there_are_others(self):
        clock = workers.Clock()
        for ns in (500, 10, 20):
            clock.add(0, ns)
        clock.add(3, 7)
        expected = {"made": 2, "makeNs": 30, "collated": 1, "collateNs": 7, "handedOver": 0, "handOverNs": 0}
        self.assertEqual(workers.figures(self.folder, [], clock), expected)
        with open(os.path.join(self.folder, "making-7"), "wb") as half:
            half.write(b"\0" * 8)
        self.assertEqual(workers.figures(self.folder, [7, 8], None), dict.fromkeys(expected, 0))

    def test_the_signal_to_stop_interrupts_a_wait_for_workers_once_and_nothing_else(self):
        stop = trial.Stop()
        self.addCleanup(trial.signal.signal, trial.signal.SIGUSR1, trial.signal.SIG_DFL)
        stop.ask(3)
        self.assertEqual((stop.asked(3), stop.asked(4)), (True, False))
        stop.waits_for_workers = True
        with self.assertRaises(trial.Stopped):
            stop.ask(4)
        stop.ask(5)


class UsageTest(unittest.TestCase):
    """The machine as files of /proc and calls report it; tests change these reports."""

    def setUp(self):
        self.blocks = 100
        self.files = {("self", "io"): "rchar: 5\nread_bytes: 1000\n"}
        statvfs = lambda _path: types.SimpleNamespace(f_blocks=10_000, f_bfree=10_000 - self.blocks, f_frsize=4096)
        patched = mock.patch.multiple(
            usage,
            os=types.SimpleNamespace(statvfs=statvfs),
            _read=lambda pid, file: self.files.get((pid, file), ""),
        )
        patched.start()
        self.addCleanup(patched.stop)

    def own(self, pid, private, in_flight=0):
        self.files[pid, "smaps_rollup"] = "Rss: 900 kB\nPrivate_Dirty: %d kB\nPss_Shmem: %d kB\n" % (private, in_flight)

    def test_shared_memory_is_the_most_that_came_on_top_also_just_before_the_end(self):
        found = usage.Usage()
        for self.blocks in (130, 120):
            found.sample(1, [])
        self.blocks = 150
        self.assertEqual(found.summary(2, [7], 50, 4)["sharedMemoryBytes"], 50 * 4096)
        self.assertEqual(found.summary(2, [], 50, 4)["sharedMemoryBytes"], 0)

    def test_storage_is_what_this_process_read_meanwhile_and_what_all_workers_have(self):
        found = usage.Usage()
        self.files["self", "io"] = "read_bytes: 4000\n"
        self.files.update({(pid, "io"): "read_bytes: %d\n" % pid for pid in (200, 30)})
        self.assertEqual(found.summary(1, [200, 30], 50, 4)["storageReadBytes"], 3000 + 230)
        self.assertIsNone(found.summary(1, [200, 7], 50, 4)["storageReadBytes"])

    def test_workers_own_memory_is_without_batches_on_their_way_and_grows_with_each_sample(self):
        for owns, more in (
            ((1000, 1040, 1120, 1280), 20),
            # One jump is no growth, whichever span it falls into.
            ((1000, 9000, 9000, 9000), 0),
            ((1000, 1040, 9000, 9000), 0),
            ((1000, 1040, 1040, 9000), 0),
        ):
            found = usage.Usage()
            for batches, private in zip((2, 4, 8, 16), owns):
                self.own(11, private + 10, 10)
                self.own(12, private)
                if batches < 16:
                    found.sample(batches, [11, 12])
                    found.sample(batches + 1, [11, 12])
            summary = found.summary(16, [11, 12], 100, 4)
            self.assertEqual(summary["workerPrivateBytes"], 2 * owns[-1] * 1024)
            self.assertEqual(summary["workerEpochBytes"], 2 * (owns[-1] + more * 100) * 1024, owns)
        self.assertIsNone(found.summary(16, [11, 12], None, 4)["workerEpochBytes"])
        self.assertNotIn("workerEpochBytes", usage.Usage().summary(1, [], 100, 4))

    def test_a_trial_that_ends_just_after_a_look_has_the_growth_of_longer_spans(self):
        found = usage.Usage()
        for batches, private in ((2, 1000), (4, 1040), (8, 1120), (16, 1280)):
            self.own(11, private)
            found.sample(batches, [11])
        self.assertGreater(found.summary(17, [11], 100, 4)["workerEpochBytes"], (1280 + 1700) * 1024)

    def test_pinned_memory_is_the_most_that_torch_had_in_use_on_top(self):
        now = {"active_bytes.current": 300, "active_bytes.peak": 300}
        cuda = types.SimpleNamespace(
            is_available=lambda: True, host_memory_stats=lambda: now, reset_peak_host_memory_stats=lambda: None
        )
        with mock.patch.object(usage, "torch", types.SimpleNamespace(cuda=cuda)):
            found = usage.Usage()
            now["active_bytes.peak"] = 900
            self.assertEqual(found.summary(1, [], None, None)["pinnedBytes"], 600)
        self.assertIsNone(usage.Usage().summary(1, [], None, None)["pinnedBytes"])


class PlayedGpu:
    """Copies take 5 ns each and steps 20, one after the other; `events` has what it did, in order."""

    def __init__(self):
        self.now = 1000
        self.busy_until = 1000
        self.events = []

    def begin(self, what, ns):
        self.busy_until = max(self.now, self.busy_until) + ns
        self.events.append(what)

    def wait(self, until):
        self.now = max(self.now, until)

    def replaced(self, test):
        gpu = self

        class Event:
            def __init__(self, enable_timing=False):
                self.at = 0

            def record(self):
                self.at = gpu.busy_until

            def synchronize(self):
                gpu.wait(self.at)

            def query(self):
                return gpu.now >= self.at

            def elapsed_time(self, other):
                return (other.at - self.at) / 1e6

        def copy(batch, _device, non_blocking):
            # Its call takes time, too.
            gpu.now += 1
            gpu.begin("copy %d" % batch + ("" if non_blocking else ", blocking"), 5)
            return batch

        stream = types.SimpleNamespace(synchronize=lambda: gpu.wait(gpu.busy_until))
        cuda = types.SimpleNamespace(Event=Event, current_stream=lambda: stream)
        clock = types.SimpleNamespace(perf_counter_ns=lambda: gpu.now)
        patched = mock.patch.multiple(consumers, torch=types.SimpleNamespace(cuda=cuda), copy=copy, time=clock)
        patched.start()
        test.addCleanup(patched.stop)


class ConsumersTest(unittest.TestCase):
    def setUp(self):
        self.gpu = PlayedGpu()
        self.gpu.replaced(self)
        self.arrived = []
        self.expected = []
        self.tell = types.SimpleNamespace(arrived=self.arrive, expect=lambda: self.expected.append(1))

    def arrive(self, ns):
        self.arrived.append(ns)
        self.gpu.events.append("arrived")

    def step(self, batch):
        self.gpu.begin("step %d" % batch, 20)

    def test_a_blocking_copy_begins_after_the_last_step_and_takes_its_own_time_alone(self):
        consumer = consumers.BlockingConsumer("cuda", False, self.step, self.tell)
        for batch in (1, 2, 3):
            consumer.take(batch)
        expected = [("copy %d, blocking" % batch, "arrived", "step %d" % batch) for batch in (1, 2, 3)]
        self.assertEqual(self.gpu.events, [event for each in expected for event in each])
        self.assertEqual((consumer.copy_ns, self.arrived), (18, [1006, 1032, 1058]))
        consumer.finish()
        self.assertEqual(self.gpu.now, 1078)

    def test_an_overlapping_copy_is_waited_for_with_the_next_one_and_so_is_a_step(self):
        consumer = consumers.OverlappingConsumer("cuda", True, self.step, self.tell)
        consumer.start()
        nows = []
        for batch in (1, 2, 3):
            consumer.take(batch)
            nows.append(self.gpu.now)
        self.assertEqual(nows, [1001, 1026, 1051])
        self.assertTrue(consumer.collect())
        self.assertEqual(self.arrived, [1006, 1031])
        consumer.finish()
        self.assertEqual(self.gpu.now, 1076)
        self.assertFalse(consumer.collect())
        self.assertEqual((self.arrived, len(self.expected)), ([1006, 1031, 1056], 3))

    def test_the_time_of_an_overlapping_copy_is_what_the_loop_spends_on_it(self):
        consumer = consumers.OverlappingConsumer("cuda", True, None, self.tell)
        consumer.start()
        for batch, now in ((1, 1001), (2, 1006)):
            consumer.take(batch)
            self.assertEqual(self.gpu.now, now)
        # Once it is waited for, it is no more.
        for _ in range(2):
            consumer.finish()
            self.assertEqual((consumer.copy_ns, self.gpu.now), (11, 1011))

    def test_a_copy_overlaps_only_from_pinned_memory_and_if_it_does_not_block(self):
        own = types.SimpleNamespace(torch_device="cuda")
        for pinned, non_blocking, overlaps in ((True, True, True), (True, False, False), (False, True, False)):
            setting = {"pinMemory": pinned, "nonBlocking": non_blocking}
            found = consumers.CudaDevice.consumer(own, setting, "step", "tell")
            self.assertIs(isinstance(found, consumers.OverlappingConsumer), overlaps)

    def test_ranks_have_the_gpus_in_turn_and_share_them_if_there_are_fewer(self):
        for index, count, gpus, gpu, notes in (
            (5, 8, 2, 1, ["8 ranks share the GPUs that torch sees: 2."]),
            (1, 2, 2, 1, []),
            (3, 4, 8, 3, []),
        ):
            cuda = mock.Mock(**{"is_available.return_value": True, "device_count.return_value": gpus})
            played = types.SimpleNamespace(cuda=cuda, device=mock.Mock())
            with mock.patch.object(consumers, "torch", played):
                self.assertEqual(consumers.find_device({"index": index, "count": count}).notes, notes)
            cuda.set_device.assert_called_once_with(gpu)


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
            self.channel._socket.close()

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
        # Longer than the connection holds.
        sending = threading.Thread(target=self.channel.send, args=("ending",), kwargs={"text": "x" * 3_000_000})
        sending.start()
        self.addCleanup(sending.join)
        *arrivals, _ = self.heard(b"ending")
        self.assertEqual([ns for each in arrivals for ns in each["ns"]], [1, 2, 3] * 2)

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
