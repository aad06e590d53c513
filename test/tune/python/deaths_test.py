"""Workers of tried settings that die, while a script trains or does something else."""

import os
import signal
import threading
import time
import unittest
from unittest import mock

import support
from torch.utils.data import DataLoader

from pinbench_live.tried import deaths
from pinbench_live.tried.feed import Feed
from pinbench_live.tried.inner import Inner


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


if __name__ == "__main__":
    unittest.main()
