"""A trial by itself: what it asks of its loader and its workers, what it says when, and what it makes of a failure."""

import types
import unittest
from unittest import mock

import support
import torch

from pinbench_probe import making, sharding
from pinbench_probe.faults import loop_faults
from pinbench_probe.timed import device, owned_memory, trial
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


if __name__ == "__main__":
    unittest.main()
