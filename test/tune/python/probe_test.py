"""The probe of a data set, module by module: over several epochs and trials, with none, one and several workers."""

import io
import itertools
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader, IterableDataset

from pinbench_probe import making
from pinbench_probe.batch import Contents
from pinbench_probe.opened.endless import EndlessIterable, EndlessSampler, repeated_epochs, shuffled_epochs
from pinbench_probe.timed import owned_memory, usage
from pinbench_probe.timed.consumers import HostConsumer
from pinbench_probe.timed.owned_memory import OwnedMemory
from pinbench_probe.timed.trial import Trial
from pinbench_probe.timed.usage import Usage
from pinbench_probe.timed.workers import Workers


def first(count, iterable):
    return list(itertools.islice(iterable, count))


class ContentsTest(unittest.TestCase):
    def test_a_batch_has_as_many_samples_as_its_first_tensor_with_a_length(self):
        self.assertEqual(Contents([torch.tensor(7), torch.zeros(32), torch.zeros(5, 3)]).first_length(), 32)
        self.assertEqual(Contents([torch.tensor(7)]).first_length(), 1)


class EndlessTest(unittest.TestCase):
    def test_each_epoch_has_its_number(self):
        sampler = EndlessSampler(lambda number: [10 * number, 10 * number + 1])
        self.assertEqual(first(7, sampler), [0, 1, 10, 11, 20, 21, 30])

    def test_the_next_loader_goes_on_where_the_last_one_stopped(self):
        sampler = EndlessSampler(lambda number: [10 * number, 10 * number + 1])
        self.assertEqual([first(3, sampler) for _ in range(3)], [[0, 1, 10], [11, 20, 21], [30, 31, 40]])

    def test_a_sampler_of_epochs_is_set_to_each_in_turn(self):
        class Sampler:
            def set_epoch(self, epoch):
                self.epoch = epoch

            def __iter__(self):
                return iter([self.epoch] * 2)

        self.assertEqual(first(6, EndlessSampler(repeated_epochs(Sampler()))), [0, 0, 1, 1, 2, 2])

    def test_each_shuffled_epoch_has_each_sample_once_in_an_order_of_its_own(self):
        length = 5000
        sampler = iter(EndlessSampler(shuffled_epochs(length)))
        epochs = [first(length, sampler) for _ in range(3)]
        for epoch in epochs:
            self.assertEqual(sorted(epoch), list(range(length)))
        self.assertEqual(len(set(map(tuple, epochs))), 3)
        self.assertEqual(first(length, EndlessSampler(shuffled_epochs(length))), epochs[0])

    def test_an_epoch_that_raises_is_followed_by_the_next(self):
        def epoch(number):
            yield number
            if number == 0:
                raise ValueError("the sampler is broken")

        sampler = EndlessSampler(epoch)
        self.assertRaisesRegex(ValueError, "broken", first, 2, sampler)
        self.assertEqual(first(2, sampler), [1, 2])

    def test_an_epoch_of_nothing_is_the_last_also_after_others(self):
        sampler = EndlessSampler(lambda number: range(max(0, 2 - number)))
        self.assertEqual(first(10, sampler), [0, 1, 0])

    def test_a_stream_begins_anew_until_it_has_nothing(self):
        class Stream(IterableDataset):
            def __init__(self):
                self.epochs = 0

            def __iter__(self):
                self.epochs += 1
                return iter([] if self.epochs > 3 else [self.epochs])

        self.assertEqual(first(10, EndlessIterable(Stream())), [1, 2, 3])


class OwnedMemoryTest(unittest.TestCase):
    """A worker's memory in common with its parent, in kB, at each look."""

    def over_epoch(self, common, counts=(2, 4, 8), batches=16, workers=2, epoch_batches=100, batch_samples=4):
        texts = iter(common)
        smaps = (
            "7f0000000000-7f0000100000 rw-p 00000000 00:00 0\nShared_Dirty:        %d kB\nPrivate_Dirty:  77 kB\n"
            "7f0000200000-7f0000300000 rw-s 00000000 00:01 5 /dev/shm/batch\nShared_Dirty:      9999 kB\n"
            "7f0000400000-7f0000500000 r--p 00000000 08:01 5 /usr/lib/a.so\nShared_Dirty:      1000 kB\n"
        )
        opened = lambda _path, _mode: io.BytesIO((smaps % (next(texts) - 1000)).encode())
        with mock.patch.object(owned_memory, "open", opened, create=True):
            owned = OwnedMemory(workers)
            others = set(threading.enumerate())
            for count in counts:
                owned.count(count, [11, 12])
                for looking in set(threading.enumerate()) - others:
                    looking.join()
            more = owned.over_epoch(batches, [11, 12], epoch_batches, batch_samples)
        return more, list(texts)

    def test_steady_growth_goes_on_over_an_epoch_in_each_worker(self):
        # A worker makes half of the batches: 10 kB less in common a batch that came are 20 kB a batch of its own.
        more, left = self.over_epoch([50_000, 49_980, 49_940, 49_860])
        self.assertEqual((more, left), (20 * 1024 * 100, []))

    def test_one_jump_is_no_growth_whichever_span_it_falls_into(self):
        for common in (
            [50_000, 20_000, 20_000, 20_000], [50_000, 49_980, 20_000, 20_000], [50_000, 49_980, 49_980, 20_000]
        ):
            self.assertEqual(self.over_epoch(common)[0], 0, common)

    def test_no_more_is_owned_than_there_is_in_common(self):
        self.assertEqual(self.over_epoch([50_000, 40_000, 20_000, 1_500], epoch_batches=10**6)[0], 1_500 * 1024)

    def test_a_worker_is_looked_at_whenever_twice_as_many_batches_have_come(self):
        more, left = self.over_epoch([50_000, 49_980, 49_940, 49_860, 0], counts=(1, 2, 3, 4, 5, 6, 7, 8, 9))
        self.assertEqual((more, left), (20 * 1024 * 100, [0]))

    def test_a_last_span_that_is_too_short_is_joined_to_the_one_before(self):
        # The look at 16 batches is left out: from there it is one batch to the end.
        more, _ = self.over_epoch([50_000, 49_980, 49_940, 49_900, 49_850], counts=(2, 4, 8, 16), batches=17)
        self.assertEqual(more, 20 * 1024 * 100)

    def test_it_is_not_known_after_few_batches_nor_without_workers_or_an_epoch(self):
        self.assertIsNone(self.over_epoch([50_000, 49_000], counts=(2,), batches=4)[0])
        self.assertIsNone(self.over_epoch([], workers=0)[0])
        self.assertIsNone(self.over_epoch([50_000, 49_000, 48_000, 47_000], epoch_batches=None)[0])


class UsageTest(unittest.TestCase):
    """The machine as files of /proc and calls tell of it, which the tests change."""

    def setUp(self):
        self.now_ns = 10**12
        self.blocks = 100
        self.files = {"/proc/self/io": "rchar: 5\nread_bytes: 1000\n", "/proc/self/cgroup": "0::/job\n"}
        statvfs = lambda _path: types.SimpleNamespace(f_blocks=10_000, f_bfree=10_000 - self.blocks, f_frsize=4096)
        path = types.SimpleNamespace(exists=lambda path: path in self.files)
        patched = mock.patch.multiple(
            usage,
            os=types.SimpleNamespace(statvfs=statvfs, path=path),
            time=types.SimpleNamespace(perf_counter_ns=lambda: self.now_ns),
            _read=lambda path: self.files.get(path, ""),
        )
        patched.start()
        self.addCleanup(patched.stop)

    def later(self, blocks, after_ns=20_000_000):
        self.now_ns += after_ns
        self.blocks = blocks

    def shared(self, trial, workers=1):
        return trial.summary([], workers)["sharedMemoryBytes"]

    def test_shared_memory_is_the_most_that_came_on_top_also_just_before_the_end(self):
        trial = Usage(1)
        for blocks in (130, 120):
            self.later(blocks)
            trial.sample()
        self.assertEqual(self.shared(trial), 30 * 4096)
        trial.sample()
        self.later(150, after_ns=1)
        self.assertEqual(self.shared(trial), 50 * 4096)
        self.assertEqual(self.shared(trial, workers=0), 0)

    def test_a_second_trial_begins_anew(self):
        one = Usage(1)
        self.later(500)
        one.sample()
        self.files["/proc/self/io"] = "read_bytes: 9000\n"
        self.assertEqual((self.shared(one), one.summary([], 1)["storageReadBytes"]), (400 * 4096, 8000))
        self.later(110)
        other = Usage(1)
        self.later(115)
        other.sample()
        self.files["/proc/self/io"] = "read_bytes: 9500\n"
        self.assertEqual((self.shared(other), other.summary([], 1)["storageReadBytes"]), (5 * 4096, 500))

    def test_storage_is_what_this_process_read_meanwhile_and_what_all_workers_have(self):
        trial = Usage(1)
        self.files["/proc/self/io"] = "read_bytes: 4000\n"
        self.files.update({"/proc/%d/io" % pid: "read_bytes: %d\n" % pid for pid in (200, 30)})
        # 7 has ended.
        self.assertEqual(trial.summary([200, 30, 7], 3)["storageReadBytes"], 3000 + 230)
        self.files["/proc/7"] = ""
        self.assertIsNone(trial.summary([200, 30, 7], 3)["storageReadBytes"])

    def test_private_memory_is_that_of_all_workers_without_what_is_on_its_way(self):
        rollup = "Rss: 900 kB\nPrivate_Dirty: %d kB\nPss_Shmem: %d kB\n"
        self.files.update({"/proc/%d/smaps_rollup" % pid: rollup % (pid, 10) for pid in (200, 30, 5)})
        self.assertEqual(Usage(1).summary([200, 30, 5], 3)["workerPrivateBytes"], (190 + 20) * 1024)

    def test_a_kill_counts_for_the_trial_in_which_it_came(self):
        events = "/sys/fs/cgroup/job/memory.events"
        events_of = lambda kills: "low 0\noom 9\noom_kill %d\n" % kills
        self.assertIsNone(Usage(1).oom_killed())
        self.files[events] = events_of(3)
        one = Usage(1)
        self.assertIs(one.oom_killed(), False)
        self.files[events] = events_of(4)
        self.assertIs(one.oom_killed(), True)
        self.assertIs(Usage(1).oom_killed(), False)

    def test_pinned_memory_is_that_of_the_batches_in_use_at_once_in_each_trial(self):
        of = ("requests.allocated", "bytes.allocated", "requests.current", "requests.peak")
        stats = lambda *values: {"active_%s" % key: value for key, value in zip(of, values)}
        now = [stats(10, 9000, 2, 2)]
        cuda = types.SimpleNamespace(
            is_available=lambda: True, host_memory_stats=lambda: now[0], reset_peak_host_memory_stats=lambda: None
        )
        with mock.patch.object(usage, "torch", types.SimpleNamespace(cuda=cuda)):
            one = Usage(2)
            # Four requests more, of 100 bytes each, of which three at once are two batches of two tensors.
            now[0] = stats(14, 9400, 2, 5)
            self.assertEqual(one.summary([], 0)["pinnedBytes"], 2 * 2 * 100)
            other = Usage(2)
            self.assertEqual(other.summary([], 0)["pinnedBytes"], 0)
            now[0] = stats(16, 9900, 2, 3)
            self.assertEqual(other.summary([], 0)["pinnedBytes"], 2 * 250)


class Splitting:
    """A worker_init_fn, which torch's loop calls."""

    def __call__(self, _worker_id):
        making.split(sys._getframe(1))


def slowly_collated(samples):
    time.sleep(0.02)
    return {"samples": samples}


class TrialTest(unittest.TestCase):
    """Trials of one process, one after the other."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = folder.name
        making.forget(self.scratch, [os.getpid()])
        making.install(self.scratch)
        self.addCleanup(making.install, None)

    def run_trial(self, number, workers, batches):
        """The messages of a trial that is asked to end after a number of batches."""
        sent = []
        channel = types.SimpleNamespace(
            send=lambda kind, **fields: sent.append((kind, fields)),
            collect_from=lambda collect: None,
            flush_arrivals=lambda: None,
            arrived=lambda ns: sent.append(("arrived", ns)),
        )
        arrived = lambda: sum(kind == "arrived" for kind, _ in sent)
        stop = types.SimpleNamespace(on_ask=None, waits_for_workers=False, asked=lambda _trial: arrived() >= batches)
        loader = lambda workers, pin, prefetch, persistent: DataLoader(
            support.Numbers(1000), batch_size=4, num_workers=workers
        )
        source = types.SimpleNamespace(
            tensors=1, loader=loader, is_iterable=False, batch_size=4, epoch_batches=lambda: 250
        )
        device = types.SimpleNamespace(consumer=lambda _setting, step, tell: HostConsumer(step, tell))
        setting = {"numWorkers": workers, "pinMemory": False, "prefetchFactor": None, "persistentWorkers": False}
        Trial(number, setting, source, device, None, channel, stop, self.scratch).run()
        return sent

    def test_each_trial_tells_of_its_own_batches_alone_and_ends_its_workers(self):
        for number, (workers, batches) in enumerate(((0, 5), (0, 3), (2, 6), (2, 4), (0, 2))):
            sent = self.run_trial(number, workers, batches)
            self.assertEqual([kind for kind, _ in sent], ["arrived"] * batches + ["ending", "ended"])
            ending = dict(sent)["ending"]
            self.assertIsNone(ending["failure"])
            self.assertEqual((ending["trial"], dict(sent)["ended"]["trial"]), (number, number))
            if workers == 0:
                # All but the first, which also pays for what is loaded then.
                self.assertEqual(making.totals(self.scratch, [os.getpid()])[0], batches - 1)
            self.assertEqual(os.listdir(self.scratch), [])
            self.assertGreater(ending["figures"]["makeNsPerBatch"], 0)
            self.assertEqual(multiprocessing.active_children(), [])

    def test_what_making_a_batch_takes_is_that_of_all_but_the_first(self):
        clock = [0]

        class Timed(support.Numbers):
            def __getitem__(self, index):
                clock[0] += 5000 if index == 0 else 10 + index
                return index

        with mock.patch.object(making, "time", types.SimpleNamespace(perf_counter_ns=lambda: clock[0])):
            list(DataLoader(Timed(4), batch_size=1))
        self.assertEqual(making.totals(self.scratch, [os.getpid()]), (3, 11 + 12 + 13))

    def test_collating_and_handing_over_are_timed_in_workers_that_are_asked_to(self):
        loader = DataLoader(
            support.Numbers(24), batch_size=4, num_workers=1, worker_init_fn=Splitting(), collate_fn=slowly_collated
        )
        iterator = iter(loader)
        pids = [worker.pid for worker in iterator._workers]
        batches = list(iterator)
        self.assertEqual([type(each) for each in batches], [dict] * 6)
        made, make_ns = making.totals(self.scratch, pids)
        parts = making.parts(self.scratch, pids)
        self.assertEqual((made, parts["collated"]), (5, 5))
        self.assertGreaterEqual(parts["collateNs"], 5 * 20e6)
        self.assertGreaterEqual(make_ns, parts["collateNs"])
        # It has ended the pipe's last batch by now, or is at it.
        self.assertGreaterEqual(parts["handedOver"], 4)
        self.assertGreater(parts["handOverNs"], 0)

    def test_a_data_set_that_makes_batches_itself_has_no_collating_of_its_own(self):
        loader = DataLoader(support.Numbers(6), batch_size=None, num_workers=1, worker_init_fn=Splitting())
        iterator = iter(loader)
        pids = [worker.pid for worker in iterator._workers]
        self.assertEqual(len(list(iterator)), 6)
        self.assertEqual(making.parts(self.scratch, pids)["collated"], 0)
        self.assertEqual(making.totals(self.scratch, pids)[0], 5)

    def test_a_worker_that_is_not_asked_to_times_nothing_but_the_making(self):
        iterator = iter(DataLoader(support.Numbers(24), batch_size=4, num_workers=1))
        pids = [worker.pid for worker in iterator._workers]
        list(iterator)
        self.assertEqual(making.totals(self.scratch, pids)[0], 5)
        nothing = {"collated": 0, "collateNs": 0, "handedOver": 0, "handOverNs": 0}
        self.assertEqual(making.parts(self.scratch, pids), nothing)

    def test_a_batch_that_is_made_of_those_of_another_loader_is_one(self):
        class Nested(support.Numbers):
            def __getitem__(self, index):
                return next(iter(DataLoader(support.Numbers(4), batch_size=2)))

        self.assertEqual(len(list(DataLoader(Nested(12), batch_size=3))), 4)
        self.assertEqual(making.totals(self.scratch, [os.getpid()])[0], 4 - 1)


class WorkersTest(unittest.TestCase):
    def fault_of(self, *exit_codes):
        """The fault that torch's error about a worker has if its workers have ended so; None for one that runs."""
        workers = Workers(types.SimpleNamespace(oom_killed=lambda: True), None)
        processes = [types.SimpleNamespace(pid=100 + i, exitcode=code) for i, code in enumerate(exit_codes)]
        workers.watch(types.SimpleNamespace(_workers=processes))
        found = workers.fault(RuntimeError("DataLoader worker (pid 1) exited unexpectedly"))
        return found["message"]

    def test_of_several_workers_that_have_ended_one_that_failed_is_blamed(self):
        segfault = "A worker crashed in native code (SIGSEGV)."
        self.assertEqual(self.fault_of(0, -11), segfault)
        self.assertEqual(self.fault_of(None, 0, -11, 0), segfault)
        self.assertEqual(self.fault_of(0, 3), "A worker ended by itself, with exit code 3.")
        self.assertEqual(self.fault_of(None, 0), "A worker ended by itself, with exit code 0.")

    def test_a_signal_s_handler_is_put_back_after_each_trial(self):
        before = signal.getsignal(signal.SIGCHLD)
        self.addCleanup(signal.signal, signal.SIGCHLD, before)
        own = lambda _signal, _frame: None
        signal.signal(signal.SIGCHLD, own)
        workers = Workers(None, "/nowhere")
        for _trial in range(2):
            workers.hush()
            workers.hush()
            self.assertIsNot(signal.getsignal(signal.SIGCHLD), own)
            workers.end()
            self.assertIs(signal.getsignal(signal.SIGCHLD), own)
