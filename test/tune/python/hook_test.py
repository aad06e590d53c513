"""The hook in a training script, module by module: over several epochs, changes, loaders and workers."""

import json
import os
import socket
import tempfile
import types
import unittest
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader

from pinbench_live.judged.comparison import Comparison, digest
from pinbench_live.live_iterator import LiveIterator
from pinbench_live.probe import probe_module
from pinbench_live.session import Session
from pinbench_live.tried import deaths
from pinbench_live.tried.feed import Feed, Gate
from pinbench_live.tried.inner import Inner
from pinbench_live.watched import Watched

making = probe_module("making")


class Heard:
    """A session that keeps what it is sent."""

    folder = "/nowhere"

    def __init__(self):
        self.watched = []
        self.told = []

    def add(self, watched):
        self.watched.append(watched)
        return len(self.watched)

    def tell(self, kind, /, **fields):
        self.told.append({"type": kind, **fields})

    def obey(self):
        pass

    def all_of(self, kind):
        return [each for each in self.told if each["type"] == kind]


class InnerTest(unittest.TestCase):
    def inner(self, workers, change=1, loader=None, **more):
        self.loader = loader or DataLoader(support.Numbers(12), batch_size=2, num_workers=1, timeout=30)
        inner = Inner(self.loader, support.setting(workers, **more), change)
        self.addCleanup(deaths.end, inner)
        return inner

    def begin(self, inner):
        inner.start(Feed(iter(self.loader._index_sampler)))
        inner.open()

    def test_a_loader_with_a_timeout_makes_its_batches_without_workers_as_well(self):
        inner = self.inner(0)
        self.begin(inner)
        self.assertEqual(support.numbers_of(inner.iterator), [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]])

    def test_each_worker_has_as_many_batches_ahead_as_its_setting_says(self):
        for workers, prefetch in ((0, 2), (1, 2), (2, 1), (2, 3)):
            loader = DataLoader(support.Numbers(100), batch_size=2)
            inner = self.inner(workers, loader=loader, prefetch=prefetch)
            self.begin(inner)
            self.assertEqual(len(inner.gate.outstanding), workers * prefetch)

    def test_workers_that_persist_make_a_second_epoch_from_its_beginning_although_the_first_was_left(self):
        inner = self.inner(2, persistent=True)
        self.begin(inner)
        pids = inner.worker_pids()
        next(inner.iterator)
        self.begin(inner)
        self.assertEqual(inner.worker_pids(), pids)
        self.assertEqual(support.numbers_of(inner.iterator), [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]])

    def test_an_inner_loader_that_has_ended_has_no_workers_and_can_start_others(self):
        inner = self.inner(2)
        self.begin(inner)
        self.assertEqual(inner.makers(), inner.worker_pids())
        inner.end()
        self.assertEqual((inner.worker_pids(), inner.makers()), ([], [os.getpid()]))
        self.begin(inner)
        self.assertEqual(len(inner.worker_pids()), 2)


class Binding(support.Numbers):
    """Sample n is the CPU to which the process that makes it is bound, or -1."""

    def __getitem__(self, index):
        cpus = os.sched_getaffinity(0)
        return torch.tensor([cpus.pop() if len(cpus) == 1 else -1])


class BindingTest(unittest.TestCase):
    def test_workers_of_every_setting_are_bound_as_the_job_is(self):
        allowed = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, allowed)
        os.sched_setaffinity(0, {max(allowed)})
        for workers in (0, 1, 2):
            loader = DataLoader(Binding(4), batch_size=2)
            inner = Inner(loader, support.setting(workers), 1)
            self.addCleanup(deaths.end, inner)
            inner.start(Feed(iter(loader._index_sampler)))
            inner.open()
            self.assertEqual(support.numbers_of(inner.iterator), [[max(allowed)] * 2] * 2)


class FeedTest(unittest.TestCase):
    def test_what_is_given_back_comes_again_in_its_order_before_the_rest(self):
        feed = Feed(iter(range(6)))
        drawn = [feed.draw() for _ in range(4)]
        feed.give_back(drawn[2:])
        feed.give_back(drawn[:2])
        self.assertEqual([feed.draw() for _ in range(6)], [0, 1, 2, 3, 4, 5])
        self.assertRaises(StopIteration, feed.draw)

    def test_a_gate_has_nothing_outstanding_of_the_epoch_before(self):
        gate = Gate(range(9))
        gate.connect(Feed(iter(range(9))))
        gate.is_open = True
        self.assertEqual([next(gate) for _ in range(3)], [0, 1, 2])
        gate.delivered()
        self.assertEqual(list(gate.outstanding), [1, 2])
        gate.connect(Feed(iter(range(9))))
        self.assertEqual(list(gate.outstanding), [])
        self.assertEqual(list(gate), [])
        gate.is_open = True
        self.assertEqual(list(gate), list(range(9)))


class WatchedTest(unittest.TestCase):
    def test_workers_persist_for_epochs_of_their_own_setting_alone(self):
        watched = Watched(DataLoader(support.Numbers(12), num_workers=1), Heard(), None)
        ended = []
        user = type("User", (), {"is_under_way": False})()
        for workers, persistent, persists in ((1, True, True), (2, False, False), (2, True, True)):
            inner = types.SimpleNamespace(
                setting=support.setting(workers, persistent=persistent), change=1, is_own=False
            )
            inner.end = lambda of=workers: ended.append(of)
            watched.put_in_force(inner, user, None)
            for _epoch in range(2):
                self.assertIs(watched.persisting(user), inner if persists else None)
        self.assertEqual(ended, [])
        watched.setting = support.setting(3)
        self.assertIsNone(watched.persisting(user))
        self.assertIsNone(watched.persisting(user))
        self.assertEqual(ended, [2])

    def test_of_a_loader_that_is_no_target_any_more_no_evidence_is_gathered_and_none_goes_on(self):
        watched = Watched(DataLoader(support.Numbers(12)), Heard(), None)
        gathering = watched.evidence = mock.Mock()
        watched.gather(None, False)
        gathering.before.assert_not_called()
        gathering.end.assert_called_once_with()
        self.assertIsNone(watched.evidence)


class LiveIteratorTest(unittest.TestCase):
    def test_the_time_between_two_epochs_of_one_iterator_is_no_step(self):
        loader = DataLoader(support.Numbers(6), batch_size=2)
        watched = Watched(loader, Heard(), None)
        iterator = LiveIterator(loader, watched)
        for epochs in (1, 2, 3):
            self.assertEqual(len(list(iterator)), 3)
            # One after each batch.
            self.assertEqual(len(watched.steps), 3 * epochs)
            iterator.begin()


class ComparisonTest(unittest.TestCase):
    def test_a_worker_has_started_with_its_first_batch_and_makes_each_of_the_script_s_once_more(self):
        loader = DataLoader(support.Numbers(8), batch_size=2)
        watched = Watched(loader, Heard(), None)
        starts = []
        watched.patience.started = starts.append
        drawn = [[0, 1], [2, 3], [4, 5]]
        compared = Comparison(loader, watched, drawn)
        self.addCleanup(compared.end)
        compared.wait(20)
        self.assertEqual(compared.digests, [digest(torch.tensor(indices)[:, None]) for indices in drawn])
        self.assertEqual(len(starts), 1)

    def test_a_tensor_that_was_looked_at_can_still_be_resized(self):
        batch = torch.zeros(4)
        digest(batch)
        self.assertEqual(len(batch.resize_(8)), 8)


class SessionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        path = os.path.join(folder.name, "socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind(path)
            server.listen()
            self.session = Session(path)
            self.pinbench, _ = server.accept()
        self.addCleanup(self.pinbench.close)
        self.addCleanup(self.session._line.close)
        self.loaders = [types.SimpleNamespace(number=number, is_told=True, asked=None) for number in (1, 2, 3)]
        self.assertEqual([self.session.add(loader) for loader in self.loaders], [1, 2, 3])

    def asked(self):
        self.session.obey()
        return [loader.asked and loader.asked["change"] for loader in self.loaders]

    def told(self):
        self.session.obey()
        return [loader.is_told for loader in self.loaders]

    def test_a_change_is_for_the_loader_whose_number_it_has(self):
        self.pinbench.sendall(b'{"type": "change", "loader": 2, "change": 1}\n')
        self.assertEqual(self.asked(), [None, 1, None])
        self.pinbench.sendall(b'{"type": "change", "loader": 3, "change": 2}\n')
        self.pinbench.sendall(b'{"type": "change", "loader": 2, "change": 3}\n')
        self.assertEqual(self.asked(), [None, 3, 2])

    def test_a_command_that_comes_in_pieces_is_obeyed_once_it_is_whole(self):
        self.pinbench.sendall(b'{"type": "change", "loader": 1, "change": 1}\n{"type": "change", "lo')
        self.assertEqual(self.asked(), [1, None, None])
        self.pinbench.sendall(b'ader": 2, ')
        self.assertEqual(self.asked(), [1, None, None])
        self.pinbench.sendall(b'"change": 2}\n')
        self.assertEqual(self.asked(), [1, 2, None])

    def test_of_all_loaders_the_target_alone_is_told_of_until_there_is_another_or_none(self):
        self.assertEqual(self.told(), [True, True, True])
        self.assertTrue(self.session.is_open)
        self.pinbench.sendall(b'{"type": "target", "loader": 2}\n')
        self.assertEqual(self.told(), [False, True, False])
        self.assertFalse(self.session.is_open)
        self.pinbench.sendall(b'{"type": "target", "loader": 3}\n')
        self.assertEqual(self.told(), [False, False, True])
        self.pinbench.sendall(b'{"type": "rest"}\n')
        self.assertEqual(self.told(), [False, False, False])

    def test_of_the_target_alone_is_evidence_gathered_and_of_none_once_the_search_is_over(self):
        for command, targets in (("target", [False, True, False]), ("rest", [False] * 3)):
            self.pinbench.sendall(b'{"type": "%s", "loader": 2}\n' % command.encode())
            with mock.patch.object(making, "install") as install:
                self.told()
            self.assertEqual([loader.is_target for loader in self.loaders], targets)
            # Workers need not time their batches any more.
            self.assertEqual(install.call_args_list, [] if command == "target" else [mock.call(None)])

    def test_the_process_introduces_itself_and_ends_after_a_loader_s_batches_as_asked(self):
        hello = json.loads(self.pinbench.recv(1000))
        self.assertEqual((hello["type"], hello["pid"]), ("hello", os.getpid()))
        self.assertEqual(self.session.folder, self.folder)
        self.pinbench.sendall(b'{"type": "end", "loader": 2, "atBatch": 5}\n')
        self.session.obey()
        self.assertEqual([getattr(loader, "ends_at", None) for loader in self.loaders], [None, 5, None])

    def test_nothing_is_told_of_any_loader_once_pinbench_has_gone(self):
        self.pinbench.close()
        self.assertEqual(self.told(), [False, False, False])
        self.assertFalse(self.session.is_open)
