"""A trial by itself, and the training loop that it plays: devices, steps, the order of copies, and what fails."""

import types
import unittest
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader, RandomSampler

from pinbench_probe import making, sharding
from pinbench_probe.faults import loop_faults
from pinbench_probe.faults.refusal import Refusal
from pinbench_probe.opened import step
from pinbench_probe.opened.endless import is_plain_shuffle
from pinbench_probe.timed import consumers, device, owned_memory, trial
from pinbench_probe.timed.owned_memory import OwnedMemory


class TrialTest(unittest.TestCase):
    """Making a batch takes 10 ns, and its use 5; `events` has what the trial does."""

    def setUp(self):
        self.now = 1000
        self.events = []
        self.waits = []
        self.workers, self.usage, self.owned = mock.Mock(), mock.Mock(), mock.Mock()
        self.workers.pids.return_value = [5, 6]
        self.workers.end.side_effect = lambda: self.events.append("the workers end")
        self.usage.summary.return_value = {"workerPrivateBytes": 100}
        self.owned.over_epoch.return_value = 7
        parts = {"collated": 2, "collateNs": 20, "handedOver": 5, "handOverNs": 200}
        for of, name, value in (
            (trial, "Usage", lambda tensors: self.usage),
            (trial, "OwnedMemory", lambda workers: self.owned),
            (trial, "Workers", lambda usage, scratch: self.workers),
            (trial, "time", types.SimpleNamespace(perf_counter_ns=lambda: self.now)),
            (making, "totals", lambda scratch, pids: (4, 400) if pids == [5, 6] else (0, 0)),
            (making, "parts", lambda scratch, pids: parts if pids == [5, 6] else dict.fromkeys(parts, 0)),
            (making, "forget", lambda scratch, pids: self.events.append(("forget", pids)) if pids == [5, 6] else None),
            (sharding, "sample_copies", lambda scratch, pids: len(pids)),
        ):
            patched = mock.patch.object(of, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def batches(self):
        for batch in (1, 2, 3):
            self.waits.append(self.stop.waits_for_workers)
            self.now += 10
            yield batch

    def run_trial(self, workers=2, batches=None, take=None, is_iterable=False, enough=3):
        test = self
        self.loader_of = mock.Mock(side_effect=lambda *_: (batches or self.batches)())
        source = types.SimpleNamespace(
            tensors=1, loader=self.loader_of, is_iterable=is_iterable, batch_size=4, epoch_batches=lambda: 50
        )

        class Consumer:
            is_in_step, copy_ns = False, 60
            start = finish = collect = lambda self: test.events.append("finish")

            def take(self, batch):
                test.waits.append(test.stop.waits_for_workers)
                test.now += 5
                self.tell.arrived(test.now)
                if take is not None:
                    take(self)

        self.consumer = Consumer()
        self.consumer.start = lambda: None
        arrived = lambda: sum(event[0] == "arrived" for event in self.events)
        self.stop = types.SimpleNamespace(
            on_ask=None, waits_for_workers=False, asked=lambda number: number == 9 and arrived() >= enough
        )
        channel = types.SimpleNamespace(
            send=lambda kind, /, **fields: self.events.append((kind, fields)),
            collect_from=lambda collect: self.events.append("collect" if collect else "no collecting"),
            flush_arrivals=lambda: self.events.append("flush"),
            arrived=lambda ns: self.events.append(("arrived", ns)),
            expect=None,
        )

        def consumer(_setting, _step, tell):
            self.consumer.tell = tell
            return self.consumer

        setting = {"numWorkers": workers, "pinMemory": True, "prefetchFactor": 3, "persistentWorkers": True}
        trial.Trial(
            9, setting, source, types.SimpleNamespace(consumer=consumer), None, channel, self.stop, "/nowhere"
        ).run()
        (ending,) = [
            fields for kind, fields in (each for each in self.events if isinstance(each, tuple)) if kind == "ending"
        ]
        return ending

    def test_the_loader_has_the_setting_and_the_figures_are_those_of_all_batches_and_workers(self):
        figures = self.run_trial(is_iterable=True)["figures"]
        self.loader_of.assert_called_once_with(2, True, 3, True)
        self.workers.watch.assert_called_once()
        expected = {"waitNsPerBatch": 10, "copyNsPerBatch": 20, "makeNsPerBatch": 100, "collateNsPerBatch": 10}
        expected.update({"handOverNsPerBatch": 40, "workerPrivateBytes": 100, "sampleCopies": 2})
        # Each of both workers comes to own 7 more.
        self.assertEqual(figures, {**expected, "workerEpochBytes": 114})
        self.owned.over_epoch.assert_called_once_with(3, [5, 6], 50, 4)
        self.assertEqual(self.owned.count.call_args_list, [mock.call(n, [5, 6]) for n in (1, 2, 3)])
        self.assertEqual(self.usage.sample.call_count, 3)

    def test_without_workers_nothing_is_said_of_them(self):
        figures = self.run_trial(workers=0)["figures"]
        self.assertEqual(set(figures), {"waitNsPerBatch", "copyNsPerBatch", "makeNsPerBatch", "workerPrivateBytes"})
        self.assertIsNone(figures["makeNsPerBatch"])
        self.owned.count.assert_not_called()

    def test_what_it_says_is_in_its_order_and_by_a_clock_that_begins_with_it(self):
        self.run_trial()
        kinds = [each if isinstance(each, str) else each[0] for each in self.events]
        arrived = ["arrived"] * 3
        end = ["finish", "flush", "no collecting", "ending", "the workers end", "forget", "ended"]
        self.assertEqual(kinds, ["collect", *arrived, *end])
        self.assertEqual([each[1] for each in self.events if each[0] == "arrived"], [15, 30, 45])
        self.assertEqual(self.events[-1], ("ended", {"trial": 9}))

    def test_a_request_to_end_it_is_answered_with_the_figures_so_far_while_it_runs(self):
        asks = []

        def take(_consumer):
            asks.append(self.stop.on_ask)
            self.stop.on_ask()

        self.run_trial(take=take)
        said = [fields for kind, fields in (each for each in self.events if isinstance(each, tuple)) if kind == "sums"]
        self.assertEqual(
            [(each["trial"], each["figures"]["copyNsPerBatch"]) for each in said], [(9, 60), (9, 30), (9, 20)]
        )
        self.assertIsNone(self.stop.on_ask)

    def test_its_signal_may_come_only_while_it_waits_for_workers(self):
        for workers, waits in ((2, [True, False]), (0, [False, False])):
            self.waits.clear()
            self.events.clear()
            self.run_trial(workers)
            self.assertEqual(self.waits, waits * 3)
            self.assertFalse(self.stop.waits_for_workers)

    def test_a_trial_that_is_interrupted_has_not_failed_and_its_copies_are_waited_for(self):
        def stopped(_consumer):
            raise trial.Stopped

        self.assertIsNone(self.run_trial(take=stopped)["failure"])
        self.assertIn("finish", self.events)

    def test_a_failure_is_told_by_what_the_loop_was_doing_and_after_how_many_batches(self):
        def fails(*_):
            raise ValueError("it broke")

        def fails_in_its_step(consumer):
            consumer.is_in_step = True
            fails()

        def second():
            yield 1
            fails()

        for batches, take, doing, count in (
            (fails, None, loop_faults.STARTING, 0),
            (second, None, loop_faults.LOADING, 1),
            (None, fails, loop_faults.COPYING, 1),
            (None, fails_in_its_step, loop_faults.STEPPING, 1),
        ):
            self.events.clear()
            with mock.patch.object(loop_faults, "describe", return_value="told") as describe:
                self.assertEqual(self.run_trial(batches=batches, take=take)["failure"], "told")
            error, *told = describe.call_args.args
            self.assertEqual((type(error), told[0], told[2]), (ValueError, doing, count))
            # Batches before it have arrived.
            self.assertIn("finish", self.events)

    def test_data_that_end_are_a_failure(self):
        with mock.patch.object(loop_faults, "describe") as describe:
            self.run_trial(enough=9)
        self.assertIsInstance(describe.call_args.args[0], loop_faults.DataEnded)


class OwnedTest(unittest.TestCase):
    def over_epoch(self, common, pids=(11, 12), samples=4):
        texts, looked = iter(common), []

        def common_bytes(pid):
            looked.append(pid)
            return next(texts)

        with mock.patch.object(owned_memory, "_common_bytes", common_bytes):
            owned = OwnedMemory(2)
            for batches in (2, 4, 8):
                owned.count(batches, list(pids))
                owned._looking.join()
            found = owned.over_epoch(16, list(pids), 100, samples)
        self.assertEqual(set(looked), {11})
        return found

    def test_of_its_first_worker_it_is_known_unless_that_has_ended_or_grows_by_next_to_nothing_a_sample(self):
        steady = [10**9 - 10_000 * batches for batches in (2, 4, 8, 16)]
        # 20 000 bytes a batch of each worker.
        self.assertEqual(self.over_epoch(steady), 20_000 * 100)
        self.assertEqual(self.over_epoch(steady, samples=40), 0)
        self.assertIsNone(self.over_epoch([*steady[:3], None]))
        owned = OwnedMemory(2)
        self.assertIsNone(owned.over_epoch(16, [], 100, 4))


class GpuTest(unittest.TestCase):
    def test_what_a_gpu_does_is_timed_by_its_own_clock(self):
        events = []

        class Event:
            def __init__(self, enable_timing):
                events.append(self)

            record = synchronize = lambda self: None
            elapsed_time = lambda self, end: 0.25 if (self, end) == tuple(events) else None

        with mock.patch.object(device, "torch", types.SimpleNamespace(cuda=types.SimpleNamespace(Event=Event))):
            self.assertEqual(device.CudaDevice.time_ns(None, lambda: None), 250_000)


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
