"""How `pinbench explain` times what torch does."""

import os
import sys
import types
import unittest
from unittest import mock

import support  # noqa: F401

sys.path.append(os.path.join(os.path.dirname(__file__), *[".."] * 3, "src", "explain", "program"))

import pinbench_explain as timing


class TimingTest(unittest.TestCase):
    def test_actions_take_turns_after_a_first_run_that_does_not_count(self):
        done, clock = [], [0]

        def action(name, ns):
            def act():
                done.append(name)
                # A first run takes longer.
                clock[0] += ns if done.count(name) > 1 else 1000

            return act

        def timed(act):
            start = clock[0]
            act()
            return clock[0] - start

        taken = timing.in_turns({"a": action("a", 5), "b": action("b", 7)}, 3, timed)
        self.assertEqual(taken, {"a": [5] * 3, "b": [7] * 3})
        self.assertEqual(done, ["a", "b"] * 4)

    def test_a_time_has_all_work_of_the_device_that_was_begun_in_it_and_none_from_before(self):
        clock, queued = [0], [100]

        def finish():
            clock[0] += queued[0]
            queued[0] = 0

        cuda = types.SimpleNamespace(synchronize=finish)
        perf = types.SimpleNamespace(perf_counter_ns=lambda: clock[0])
        with mock.patch.object(timing, "torch", types.SimpleNamespace(cuda=cuda)), mock.patch.object(
            timing, "time", perf
        ):
            self.assertEqual(timing.time_ns(lambda: queued.__setitem__(0, queued[0] + 30)), 30)
