"""Tried settings without processes: what a dead worker stops, how long is waited, what is told, and who asks the sampler."""

import os
import signal
import threading
import time
import types
import unittest
from unittest import mock

import support
from torch.utils.data import DataLoader

from pinbench_live.tried import deaths, failures
from pinbench_live.tried.feed import Feed, Gate
from pinbench_live.tried.inner import Inner
from pinbench_probe import worker_start


class PlayedInner:
    """A tried loader with workers of these numbers; its next batch comes from `next_within`."""

    is_own, folder = False, None
    setting = support.setting(2)

    def __init__(self, *pids, next_within=lambda seconds: "a batch"):
        self.pids = list(pids)
        self.next_within = next_within
        self.has_lost_files = lambda: False
        self.end = mock.Mock()

    def worker_pids(self):
        return self.pids

    def workers(self):
        return ["a worker"] * len(self.pids)


class SignalTest(unittest.TestCase):
    def setUp(self):
        self.codes = {}
        self.heard = []
        self.before = lambda *_: self.heard.append(1)
        previous = signal.signal(signal.SIGCHLD, self.before)
        self.addCleanup(signal.signal, signal.SIGCHLD, previous)
        patched = mock.patch.object(deaths, "_exit_code", lambda pid: self.codes.get(pid))
        patched.start()
        self.addCleanup(patched.stop)

    def handled(self):
        self.heard.clear()
        signal.getsignal(signal.SIGCHLD)(signal.SIGCHLD, None)
        return self.heard == [1]

    def test_torch_s_own_handler_hears_of_a_child_unless_a_tried_worker_is_dead_and_nobody_waits(self):
        inner = PlayedInner(1)
        deaths.watch(inner)
        self.assertTrue(self.handled())
        # One that ended well has not died.
        self.codes[1] = 0
        self.assertTrue(self.handled())
        self.codes[1] = -9
        self.assertFalse(self.handled())
        with mock.patch.object(deaths, "_is_waiting", True):
            self.assertTrue(self.handled())
        with mock.patch.object(deaths, "_is_ending", True), mock.patch.object(deaths, "_is_waiting", True):
            self.assertFalse(self.handled())
        deaths.end(inner)
        self.assertTrue(self.handled())

    def test_a_handler_is_put_off_once_and_only_where_there_is_one_and_in_the_main_thread(self):
        deaths.watch(PlayedInner(1))
        handler = signal.getsignal(signal.SIGCHLD)
        deaths.watch(PlayedInner(2))
        self.assertIs(signal.getsignal(signal.SIGCHLD), handler)
        for other in (signal.SIG_DFL, signal.SIG_IGN):
            signal.signal(signal.SIGCHLD, other)
            deaths.watch(PlayedInner(3))
            self.assertEqual(signal.getsignal(signal.SIGCHLD), other)
        signal.signal(signal.SIGCHLD, self.before)
        errors = []
        with mock.patch.object(threading, "excepthook", errors.append):
            thread = threading.Thread(target=deaths.watch, args=[PlayedInner(4)])
            thread.start()
            thread.join()
        self.assertEqual(errors, [])

    def test_a_worker_that_had_died_before_it_was_watched_is_noticed(self):
        first = PlayedInner(1)
        deaths.watch(first)
        deaths.next_of(first)
        self.codes[2] = 7
        late = PlayedInner(2)
        deaths.watch(late)
        self.assertRaises(deaths.WorkerDied, deaths.next_of, late)

    def test_a_batch_that_does_not_come_took_too_long_only_within_a_limit(self):
        def timed_out(_seconds):
            self.assertTrue(deaths._is_waiting)
            raise RuntimeError("DataLoader timed out after 5 seconds")

        with self.assertRaisesRegex(deaths.TookTooLong, r"no batch came within 5 s"):
            deaths.next_of(PlayedInner(next_within=timed_out), 5)
        self.assertFalse(deaths._is_waiting)
        self.assertRaisesRegex(RuntimeError, "DataLoader timed out", deaths.next_of, PlayedInner(next_within=timed_out))

        def broken(_seconds):
            raise RuntimeError("it broke")

        self.assertRaisesRegex(RuntimeError, "it broke", deaths.next_of, PlayedInner(next_within=broken), 5)
        lost = PlayedInner()
        lost.has_lost_files = lambda: True
        self.assertRaises(OSError, deaths.next_of, lost)

    def test_workers_that_do_not_end_in_time_are_killed_and_no_others(self):
        for pids, error in (([1], None), ([], None), ([1], RuntimeError("no thread starts any more"))):
            inner = PlayedInner(*pids)
            with mock.patch.object(deaths.threading, "Timer") as timer:
                timer.return_value.start.side_effect = error
                deaths.end(inner, 7)
            timer.assert_called_once_with(7, deaths._kill, [inner.workers()])
            self.assertEqual(timer.return_value.start.call_count, len(pids))
            timer.return_value.cancel.assert_called_once_with()
            inner.end.assert_called_once_with()
        killed = []

        def kill(pid, number):
            killed.append(pid)
            if pid == 2:
                raise ProcessLookupError

        worker = lambda pid, popen: types.SimpleNamespace(pid=pid, _popen=popen)
        running, ended = types.SimpleNamespace(returncode=None), types.SimpleNamespace(returncode=0)
        with mock.patch.object(os, "kill", kill):
            deaths._kill([worker(1, None), worker(2, running), worker(3, ended), worker(4, running)])
        self.assertEqual(killed, [2, 4])

    def test_the_first_worker_that_failed_is_told(self):
        self.codes.update({2: 0, 3: 7, 4: -9})
        self.assertEqual(deaths.dead_worker(PlayedInner(1, 2, 3, 4)), (3, 7))
        self.assertEqual(deaths.dead_worker(PlayedInner(1, 2)), (None, None))


class ExitCodeTest(unittest.TestCase):
    def test_a_child_has_its_exit_code_or_its_signal_and_is_still_there_for_its_parent(self):
        for end, code in ((lambda: os._exit(7), 7), (lambda: os.kill(os.getpid(), signal.SIGKILL), -signal.SIGKILL)):
            pid = os.fork()
            if pid == 0:
                end()
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            self.assertEqual(deaths._exit_code(pid), code)
            os.waitpid(pid, 0)
            self.assertIsNone(deaths._exit_code(pid))


class FailuresTest(unittest.TestCase):
    def test_a_failure_is_told_by_whether_workers_had_started(self):
        error = AttributeError("Can't get attribute 'f' on <module>")
        told = [failures.describe(error, PlayedInner(), has_started) for has_started in (False, True)]
        self.assertEqual([each["fault"] for each in told], ["not-picklable", "dataset-raised"])
        self.assertIn("picklable", told[0]["hint"])
        self.assertIn("Can't get attribute", told[1]["traceback"])

    def test_a_hang_is_told_with_its_limit_and_a_setting_that_is_not_tried_with_the_reason(self):
        told = failures.describe(deaths.TookTooLong(12.34), PlayedInner(), True)
        self.assertEqual((told["fault"], told["traceback"]), ("hang", None))
        self.assertIn("within 12.3 s", told["message"])
        self.assertIn("lock", told["hint"])
        message = {"fault": "unsafe", "message": "It is not tried: a reason.", "hint": None, "traceback": None}
        self.assertEqual(failures.refusal("a reason"), message)

    def test_of_a_dead_worker_its_exit_code_and_what_it_has_left_in_the_folder_are_told(self):
        for code, found in ((-signal.SIGSEGV, "SIGSEGV"), (worker_start.UNSENDABLE, "its error is lost")):
            inner = PlayedInner(3)
            inner.folder = "/nowhere"
            with mock.patch.object(deaths, "_exit_code", lambda _: code), mock.patch(
                "pinbench_probe.faults.worker_faults.unsendable_file",
                side_effect=lambda *of: self.assertEqual(of, ("/nowhere", 3)) or "/gone",
            ):
                self.assertIn(found, failures.describe(deaths.WorkerDied("it died"), inner, True)["message"])


class FeedTest(unittest.TestCase):
    """What the script's own setting would have asked for by now is asked for at once, and the rest ahead."""

    def ahead(self):
        return mock.Mock(draw=lambda number, indices: (next(indices), "ahead of batch %d" % number))

    def test_a_sampler_is_asked_ahead_only_beyond_what_the_script_s_own_setting_has_asked_for(self):
        indices = iter(range(9))
        feed = Feed(indices)
        feed.ahead = self.ahead()
        feed.catch_up(2, support.setting(0))
        feed.ahead.catch_up.assert_called_once_with(2)
        # Without workers torch asks when the batch is made.
        self.assertEqual(indices.__length_hint__(), 9)
        self.assertEqual([feed.draw() for _ in range(3)], [0, 1, (2, "ahead of batch 3")])
        feed.catch_up(3, support.setting(0))
        self.assertEqual(feed.draw(), (3, "ahead of batch 4"))

    def test_workers_of_the_script_have_asked_for_all_that_they_have_ahead(self):
        asked = []
        feed = Feed(iter(lambda: asked.append(1) or len(asked), 9))
        feed.ahead = self.ahead()
        feed.catch_up(1, support.setting(2, prefetch=3))
        self.assertEqual(len(asked), 7)
        feed.ahead.catch_up.assert_called_once_with(7)
        self.assertEqual([feed.draw() for _ in range(7)], [1, 2, 3, 4, 5, 6, 7])
        # It has no more than one further.
        for _ in range(2):
            feed.catch_up(4, support.setting(2, prefetch=3))
        self.assertEqual(feed.draw(), 8)
        self.assertRaises(StopIteration, feed.draw)

    def test_an_error_of_the_sampler_is_kept_until_the_loop_has_it_and_then_it_is_over(self):
        def failing():
            yield 1
            raise ValueError("it broke")

        feed = Feed(failing())
        for _ in range(2):
            feed.catch_up(5, support.setting(1))
        self.assertEqual(feed.draw(), 1)
        self.assertRaises(StopIteration, feed.draw)
        self.assertEqual(str(feed.take_error()), "it broke")
        self.assertIsNone(feed.error)
        self.assertRaises(StopIteration, feed.draw)


class GateTest(unittest.TestCase):
    def test_what_was_interrupted_is_made_again_only_if_wanted_and_not_the_script_s_own(self):
        for is_own, again, expected in ((False, True, [1, 2, 3]), (False, False, [3]), (True, True, [3])):
            feed = Feed(iter([1, 2, 3]))
            gate = Gate([1, 2, 3])
            if is_own:
                gate.follow(feed)
                iter(gate)
            else:
                gate.connect(feed)
                gate.is_open = True
            self.assertEqual([next(gate), next(gate)], [1, 2])
            gate.interrupt(is_made_again=again)
            self.assertEqual((list(gate.outstanding), gate.delivered()), ([], None))
            feed_rest = []
            while True:
                try:
                    feed_rest.append(feed.draw())
                except StopIteration:
                    break
            self.assertEqual(feed_rest, expected)

    def test_an_error_of_the_sampler_reaches_torch_under_the_script_s_own_setting_alone(self):
        def failing():
            raise ValueError("it broke")
            yield

        for is_own, error in ((True, ValueError), (False, StopIteration)):
            gate = Gate(failing())
            if is_own:
                gate.follow(Feed())
            else:
                gate.connect(Feed(failing()))
                gate.is_open = True
            self.assertRaises(error, next, iter(gate))

    def test_the_oldest_batch_is_delivered_first_and_each_epoch_of_its_own_begins_anew(self):
        sampler, feed = [1, 2], Feed()
        gate = Gate(sampler)
        self.assertEqual(len(gate), 2)
        for _ in range(2):
            gate.follow(feed)
            self.assertEqual(list(gate), [1, 2])
            self.assertEqual(gate.delivered(), 1)
        gate.connect(feed)
        self.assertEqual((gate.is_open, gate.is_own), (False, False))


class DeathsTest(unittest.TestCase):
    """torch raises an error about a dead worker out of whatever the main thread does when it dies."""

    def begin(self, change):
        loader = DataLoader(support.Numbers(100), batch_size=2, num_workers=2)
        inner = Inner(loader, support.setting(2), change)
        self.addCleanup(deaths.end, inner)
        inner.start(Feed(iter(loader._index_sampler)))
        if change != 0:
            deaths.watch(inner)
        inner.open()
        return inner

    def kill_one(self, inner):
        os.kill(inner.worker_pids()[1], signal.SIGKILL)
        while deaths.exit_code(inner) is None:
            time.sleep(0.01)
        time.sleep(0.01)

    def test_a_tried_worker_that_dies_between_two_batches_is_an_error_when_the_next_is_asked_for(self):
        # The second setting that is tried is watched as the first one.
        for change in (1, 2):
            inner = self.begin(change)
            for _ in range(3):
                deaths.next_of(inner)
            self.kill_one(inner)
            self.assertEqual(deaths.exit_code(inner), -signal.SIGKILL)
            self.assertRaises(deaths.WorkerDied, deaths.next_of, inner)
            deaths.end(inner)

    def test_the_workers_are_not_asked_at_each_batch_whether_they_live(self):
        inner = self.begin(1)
        deaths.next_of(inner)
        with mock.patch.object(deaths, "_exit_code", side_effect=AssertionError):
            for _ in range(3):
                deaths.next_of(inner)

    def test_a_worker_that_dies_is_noticed_in_a_thread_and_if_the_script_has_taken_the_signal(self):
        inner = self.begin(1)
        deaths.next_of(inner)
        before = signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            self.kill_one(inner)
            self.assertRaises(deaths.WorkerDied, deaths.next_of, inner)
        finally:
            signal.signal(signal.SIGCHLD, before)
        other, raised = self.begin(2), []
        deaths.next_of(other)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        try:
            os.kill(other.worker_pids()[1], signal.SIGKILL)
            while deaths.exit_code(other) is None:
                time.sleep(0.01)

            def ask():
                try:
                    deaths.next_of(other)
                except deaths.WorkerDied as error:
                    raised.append(error)

            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.assertEqual(len(raised), 1)

    def test_a_worker_of_the_script_s_own_setting_that_dies_is_an_error_at_once_also_after_trials(self):
        tried = self.begin(1)
        deaths.next_of(tried)
        self.kill_one(tried)
        deaths.end(tried)
        own, other = self.begin(0), self.begin(2)
        deaths.next_of(own)
        deaths.next_of(other)
        with self.assertRaisesRegex(RuntimeError, "DataLoader worker .* is killed by signal"):
            self.kill_one(own)
