"""The training loop that the probe plays: its devices, its step, and the order of copies and steps."""

import types
import unittest
from unittest import mock

import support  # noqa: F401
import torch
from torch.utils.data import DataLoader, RandomSampler

from pinbench_probe.faults.refusal import Refusal
from pinbench_probe.opened import step
from pinbench_probe.opened.endless import is_plain_shuffle
from pinbench_probe.timed import consumers, device, trial


class PlayedGpu:
    """Copies take 5 ns each and steps 20, one after the other; `done` has what the loop waited for."""

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
        self.assertEqual(self.gpu.events[0], "copy 1")

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


class DeviceTest(unittest.TestCase):
    def test_a_copy_overlaps_only_from_pinned_memory_and_if_it_does_not_block(self):
        own = types.SimpleNamespace(torch_device="cuda")
        for pinned, non_blocking, overlaps in ((True, True, True), (True, False, False), (False, True, False)):
            setting = {"pinMemory": pinned, "nonBlocking": non_blocking}
            with mock.patch.object(device, "OverlappingConsumer") as overlapping, mock.patch.object(
                device, "BlockingConsumer"
            ) as blocking:
                device.CudaDevice.consumer(own, setting, "step", "tell")
            made = overlapping if overlaps else blocking
            made.assert_called_once_with("cuda", non_blocking, "step", "tell")

    def test_a_shared_gpu_is_noted_and_one_of_several_is_not(self):
        with mock.patch.multiple(
            torch.cuda, init=lambda: None, current_device=lambda: 1, get_device_name=lambda of: "GPU %d" % of.index
        ):
            for shared_by, count, notes in (
                (1, 8, []),
                (2, 1, ["torch sees 1 GPU, which 2 ranks share here."]),
                (8, 2, ["torch sees 2 GPUs, which 8 ranks share here."]),
            ):
                found = device.CudaDevice(shared_by, count)
                self.assertEqual((found.name, found.notes), ("GPU 1", notes))

    def test_without_a_gpu_batches_stay_where_they_are(self):
        with mock.patch.object(torch.cuda, "is_available", lambda: False):
            found = device.find({"index": 1, "count": 2})
        self.assertEqual((found.is_cuda, found.name, found.link(1 << 20)), (False, None, None))
        clock = iter((10, 25))
        with mock.patch.object(device, "time", types.SimpleNamespace(perf_counter_ns=lambda: next(clock))):
            self.assertEqual(found.time_ns(lambda: None), 15)

    def test_a_link_is_measured_with_copies_of_a_batch_that_is_not_too_large(self):
        clock, sizes = [0], []

        class Memory:
            def __init__(self, size, ns=0):
                self.size, self.ns = size, ns
                self.copies = 0

            def pin_memory(self):
                return Memory(self.size, 10)

            def copy_(self, other, non_blocking):
                other.copies += 1
                # The first copy takes far longer, and the middle one of the others three times as long as the fastest.
                clock[0] += other.ns * (other.copies - 1 or 100)

        def ones(size, dtype):
            sizes.append(size)
            return Memory(size, 40)

        played = types.SimpleNamespace(
            uint8=None,
            ones=ones,
            empty=lambda size, dtype, device: Memory(size),
            cuda=types.SimpleNamespace(synchronize=lambda: None),
        )
        own = types.SimpleNamespace(torch_device="cuda", _LINK_BYTES=device.CudaDevice._LINK_BYTES)
        with mock.patch.object(device, "torch", played), mock.patch.object(
            device, "time", types.SimpleNamespace(perf_counter_ns=lambda: clock[0])
        ):
            found = device.CudaDevice.link(own, 1200)
            self.assertEqual(found, {"pinnedBytesPerSecond": 4e10, "pageableBytesPerSecond": 1e10})
            device.CudaDevice.link(own, 1 << 40)
            device.CudaDevice.link(own, 0)
        self.assertEqual(sizes, [1200, 256 << 20, 1])


class StepTest(unittest.TestCase):
    def setUp(self):
        self.alive = []
        self.host = types.SimpleNamespace(is_cuda=False, torch_device="cpu", time_ns=lambda action: action() or 7)

    def make(self, wanted, device=None, batch_bytes=1):
        return step.make(wanted, batch_bytes, device or self.host, lambda: self.alive.append(1))

    def test_a_step_that_is_not_wanted_is_none_and_one_of_a_given_time_takes_it(self):
        self.assertEqual(self.make(None), (None, None))
        start, took_ns = self.make(3e6)
        with mock.patch.object(step.time, "sleep") as sleep:
            start(None)
        sleep.assert_called_once_with(3e6 / 1e9)
        self.assertEqual(took_ns, 3e6)

    def test_on_a_gpu_it_is_as_many_cycles_as_the_clock_makes_once_it_is_fast(self):
        slept, speeds = [], iter([0.5, 0.6, 0.7, 2, 2, 2])

        def time_ns(action):
            action()
            return slept[-1] / next(speeds, 2)

        gpu = types.SimpleNamespace(is_cuda=True, time_ns=time_ns)
        with mock.patch.object(torch.cuda, "_sleep", slept.append):
            start, took_ns = self.make(1000, gpu)
            start(None)
        self.assertEqual((slept[-1], took_ns, len(self.alive)), (2000, 1000, 3))

    def test_a_stand_in_has_the_largest_matrices_of_which_four_products_are_a_step(self):
        for is_cuda, batch_bytes, side, count in (
            # 2 n³ operations each, of 20 000 a byte.
            (False, 600_000, 512, 45),
            (False, 1_000, 128, 5),
            (False, 0, 128, 1),
            (True, 60_000_000, 4096, 9),
            (True, 10_000_000, 2048, 12),
            (True, 600_000, 1024, 6),
        ):
            shapes = []
            made = types.SimpleNamespace(is_cuda=is_cuda, torch_device="meta", time_ns=lambda action: action() or 7)
            with mock.patch.object(
                torch, "matmul", lambda left, right, out: shapes.append((tuple(left.shape), left.dtype))
            ):
                start, _ = self.make("auto", made, batch_bytes)
                shapes.clear()
                start(None)
            kind = torch.float16 if is_cuda else torch.float32
            self.assertEqual(shapes, [((side, side), kind)] * count)

    def test_the_user_s_step_is_timed_by_the_middle_of_runs_after_the_first_ones_on_the_device(self):
        took, batches = iter([900, 800, 30, 10, 20]), []
        timed = types.SimpleNamespace(is_cuda=True, torch_device="meta", time_ns=lambda action: action() or next(took))
        with mock.patch.object(step.target, "load", return_value=batches.append):
            found, took_ns = step.of_user("train.py:step", torch.zeros(1), timed, lambda: self.alive.append(1))
        self.assertEqual((took_ns, len(self.alive), len(batches)), (20, 5, 5))
        self.assertEqual({batch.device.type for batch in batches}, {"meta"})
        found("a batch")
        self.assertEqual(batches[-1], "a batch")

    def test_a_step_that_ends_the_program_is_refused(self):
        def exits(_batch):
            raise SystemExit(4)

        with mock.patch.object(step.target, "load", return_value=exits), self.assertRaises(Refusal) as refused:
            step.of_user("train.py:step", torch.zeros(1), self.host, lambda: None)
        self.assertIn("The step train.py:step fails on a batch: it called sys.exit(4)", refused.exception.message)


class StopTest(unittest.TestCase):
    def setUp(self):
        with mock.patch.object(trial.signal, "signal"):
            self.stop = trial.Stop()

    def test_a_request_is_for_one_trial_and_is_told_even_if_that_fails(self):
        asked = []

        def on_ask():
            asked.append(1)
            raise ValueError("it has ended")

        with mock.patch.object(trial.signal, "pthread_kill") as kill:
            self.stop.ask(3)
            self.stop.on_ask = on_ask
            self.stop.ask(4)
        self.assertEqual([self.stop.asked(number) for number in (3, 4)], [False, True])
        self.assertEqual((len(asked), kill.call_count), (1, 2))

    def test_its_signal_interrupts_a_wait_for_workers_once_and_nothing_else(self):
        self.stop._on_signal(None, None)
        self.stop.waits_for_workers = True
        self.assertRaises(trial.Stopped, self.stop._on_signal, None, None)
        self.stop._on_signal(None, None)


class ShuffleTest(unittest.TestCase):
    def test_a_shuffle_is_plain_only_over_the_data_set_itself_and_from_torch_s_own_generator(self):
        data, own = range(6), torch.Generator()
        for is_plain, arguments in (
            (True, {"shuffle": True}),
            (False, {"shuffle": False}),
            (False, {"shuffle": True, "generator": own}),
            (False, {"sampler": RandomSampler(data, generator=own)}),
            (False, {"sampler": RandomSampler(data), "generator": own}),
            (False, {"sampler": RandomSampler(data, replacement=True)}),
            (False, {"sampler": RandomSampler(range(6))}),
        ):
            self.assertIs(is_plain_shuffle(DataLoader(data, **arguments)), is_plain, arguments)


if __name__ == "__main__":
    unittest.main()
