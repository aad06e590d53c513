"""What a few of the script's own batches, and a worker's, say of settings with other workers."""

import tempfile
import types
import unittest
from unittest import mock

import support
import torch
from hook_test import Heard
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from pinbench_live.judged import evidence
from pinbench_live.judged.evidence import Evidence
from pinbench_live.judged.verdict import DISCARDED, HANDED, REFUSED
from pinbench_live.probe import probe_module
from pinbench_live.seen import open_files
from pinbench_live.watched import Watched

making = probe_module("making")


class Reading(support.Numbers):
    """Reads on in a file for the samples of one batch."""

    def __init__(self, file, batch):
        super().__init__(6)
        self.file = file
        self.batch = batch

    def __getitem__(self, index):
        if index // 2 == self.batch:
            self.file.read(1)
        return super().__getitem__(index)


class Sampler:
    """Does something when it is asked for a batch."""

    def __init__(self, act):
        self.act = act
        self.count = 0
        self.generator = torch.Generator()

    def __iter__(self):
        for number in range(3):
            self.act(self, number)
            yield [2 * number, 2 * number + 1]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))


class Sharded(Stream):
    def __iter__(self):
        return iter(range(4) if get_worker_info() is None else range(2))


class Nested(Stream):
    def __init__(self, source):
        self.source = source


class Gathering(unittest.TestCase):
    def setUp(self):
        making.install("/nowhere")
        self.addCleanup(making.install, None)
        self.compared = {"failure": None, "sample_copies": None}
        self.nothing = {"is_random": False, "first_changed": None, "changed": None, "opened": None}

    def begin(self, loader, **watched):
        self.loader, self.watched = loader, Watched(loader, Heard(), None)
        vars(self.watched).update(watched)
        return Evidence(loader, self.watched)

    def played(self, found, **changes):
        given = {**self.compared, "digests": found._digests, "seen": self.nothing, **changes}
        return types.SimpleNamespace(**given, poll=lambda: True, end=mock.Mock())

    def verdict(self, loader, between=lambda number: None, watched=(), **compared):
        """After three batches; `between` is what the loop does after each."""
        found = self.begin(loader, **dict(watched))
        batches = iter(loader)
        with mock.patch.object(evidence, "Comparison", lambda *_: self.played(found, **compared)):
            for number in range(3):
                found.before(number == 0)
                if found.verdict is not None:
                    return found.verdict
                found.after([2 * number, 2 * number + 1], next(batches), 0.01)
                between(number)
            found.before(False)
        return found.verdict

    def verdict_of_workers(self, loader, watched=(), **compared):
        """The same of a loader with workers, whose batches are made elsewhere."""
        found = self.begin(loader, **dict(watched))
        with mock.patch.object(evidence, "Comparison", lambda *_: self.played(found, **compared)):
            for number in range(3):
                found.before(number == 0)
                found.after([number], torch.zeros(1), 0.01)
            found.before(False)
        return found.verdict


class LoopTest(Gathering):
    def test_a_loop_that_changes_what_batches_are_made_of_gets_no_workers_whenever_it_does(self):
        for number in (0, 1):
            dataset = support.Numbers(6)
            found = self.verdict(
                DataLoader(dataset, batch_size=2), lambda at: setattr(dataset, "seen", at) if at == number else None
            )
            self.assertEqual((found.workers, "the training loop changes dataset" in found.reason), (REFUSED, True))
            sampler = Sampler(lambda *_: None)
            loader = DataLoader(support.Numbers(6), batch_sampler=sampler)
            found = self.verdict(loader, lambda at: setattr(sampler, "count", at + 5) if at == number else None)
            self.assertEqual((found.workers, "changes sampler.count between" in found.reason), (REFUSED, True))

    def test_between_two_epochs_it_may(self):
        dataset = support.Numbers(6)
        found = self.begin(DataLoader(dataset, batch_size=2))
        batches = iter(self.loader)
        found.before(True)
        found.after([0, 1], next(batches), 0.01)
        dataset.length = 5
        found.before(True)
        self.assertIsNone(found.verdict)
        # Batches of the script's own say how long others may take.
        self.assertGreater(self.watched.patience.grace(), 1)
        making.observe(None)

    def test_what_it_has_changed_since_its_workers_were_forked_reaches_no_others(self):
        for dataset, workers in ((support.Numbers(6), REFUSED), (Stream(), DISCARDED)):
            forked = mock.Mock(**{"changed.return_value": "dataset.seen"})
            loader = DataLoader(dataset, batch_size=2, num_workers=1)
            found = self.verdict_of_workers(loader, {"forked": forked}, sample_copies=1)
            self.assertEqual(found.workers, workers)
            self.assertEqual("changes dataset.seen after its workers have started" in found.reason, workers == REFUSED)


class SamplerTest(Gathering):
    def of(self, act, **changes):
        return self.verdict(DataLoader(support.Numbers(6), batch_sampler=Sampler(act), **changes))

    def test_one_that_keeps_count_or_draws_with_each_batch_has_batches_left_aside(self):
        def counts(sampler, _):
            sampler.count += 1

        def draws(_sampler, _):
            torch.rand(1)

        def draws_of_its_own(sampler, _):
            torch.rand(1, generator=sampler.generator)

        own = torch.Generator()
        for act, changes, reason in (
            (counts, {}, "the sampler changes sampler.count when it is asked"),
            (draws, {}, "the sampler draws random numbers"),
            (draws_of_its_own, {}, "the sampler draws random numbers"),
            (lambda *_: torch.rand(1, generator=own), {"generator": own}, "the sampler draws random numbers"),
        ):
            found = self.of(act, **changes)
            self.assertEqual((found.workers, found.ahead_matters), (DISCARDED, True))
            self.assertIn(reason, found.reason)

    def test_what_it_does_as_an_epoch_begins_does_no_harm(self):
        def begins(sampler, number):
            if number == 0:
                sampler.count += 1
                torch.rand(1)

        found = self.of(begins)
        self.assertEqual((found.workers, found.ahead_matters), (HANDED, False))

    def test_one_that_holds_an_iterator_keeps_its_place_there(self):
        sampler = Sampler(lambda *_: None)
        sampler.rest = iter([1])
        found = self.verdict(DataLoader(support.Numbers(6), batch_sampler=sampler))
        self.assertIn("the sampler changes sampler.rest", found.reason)


class FileTest(Gathering):
    def test_a_file_in_which_any_batch_reads_on_is_not_shared_with_forked_workers(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"some text")
            file.flush()
            for batch in (0, 1, 2):
                for context, workers in ((None, REFUSED), ("spawn", DISCARDED)):
                    read = open(file.name, "rb", buffering=0)
                    self.addCleanup(read.close)
                    loader = DataLoader(Reading(read, batch), batch_size=2)
                    with mock.patch.object(evidence, "forks", return_value=context is None), mock.patch.object(
                        evidence, "roots_of", return_value=mock.Mock(held=[], **{"changed.return_value": None})
                    ):
                        found = self.verdict(loader, digests=[])
                    self.assertEqual(found.workers, workers)
                    if workers == REFUSED:
                        self.assertIn(file.name, found.reason)
                        self.assertIn("Open it in each worker", found.reason)

    def test_of_a_stream_s_files_those_count_that_were_open_before_its_epoch(self):
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(b"some text")
            known = {file.fileno(): open_files.positions()[file.fileno()]}
            other = {file.fileno(): ("another", (0, 0), 0)}
            for at_epoch, workers in ((known, REFUSED), ({}, DISCARDED), (other, DISCARDED)):
                found = self.begin(DataLoader(Stream(), batch_size=2, num_workers=1), files_at_epoch=at_epoch)
                with mock.patch.object(evidence, "Comparison", lambda *_: self.played(found, sample_copies=1)):
                    for number in range(3):
                        found.before(number == 0)
                        file.seek(number)
                        found.after(None, torch.zeros(1), 0.01)
                    found.before(False)
                self.assertEqual(found.verdict.workers, workers)


class ConclusionTest(Gathering):
    def test_workers_that_fail_are_refused_with_their_failure(self):
        failure = {"fault": "dataset-raised", "message": "It broke."}
        found = self.verdict_of_workers(DataLoader(support.Numbers(6), num_workers=1), failure=failure)
        self.assertEqual((found.workers, found.reason, found.failure), (REFUSED, "workers fail: It broke", failure))

    def test_batches_of_a_worker_that_differ_are_left_aside_unless_they_are_random(self):
        random = {**self.nothing, "is_random": True}
        for seen, workers in ((self.nothing, DISCARDED), (random, HANDED), (None, HANDED)):
            found = self.verdict_of_workers(
                DataLoader(support.Numbers(6), num_workers=1), digests=["another"], seen=seen
            )
            self.assertEqual(found.workers, workers)
        found = self.verdict(DataLoader(support.Numbers(6), batch_size=2), digests=["another"], seen=random)
        self.assertEqual((found.workers, "other batches of the same indices" in found.reason), (DISCARDED, True))

    def test_a_loader_whose_sampler_matters_may_not_do_without_its_workers(self):
        found = self.begin(DataLoader(support.Numbers(6), num_workers=1))
        found._draws = True
        found._comparison = self.played(found)
        found.before(False)
        self.assertEqual((found.verdict.without_workers, found.verdict.ahead_matters), (False, True))

    def test_an_iterator_of_the_data_set_is_copied_by_workers(self):
        dataset = support.Numbers(6)
        dataset.rest = iter([1])
        found = self.verdict(DataLoader(dataset, batch_size=2))
        self.assertEqual((found.workers, "holds an iterator (dataset.rest)" in found.reason), (DISCARDED, True))

    def test_a_stream_that_knows_of_workers_is_taken_to_share_its_samples_unless_it_is_seen_not_to(self):
        def begin(_worker):
            get_worker_info()

        for dataset, init_fn, copies, workers in (
            (Stream(), None, None, REFUSED),
            (Sharded(), None, None, DISCARDED),
            (Nested(Nested(Sharded())), None, None, DISCARDED),
            (Stream(), begin, None, DISCARDED),
            (Stream(), lambda _: [get_worker_info() for _ in range(1)], None, DISCARDED),
            (Sharded(), None, 2, REFUSED),
        ):
            loader = DataLoader(dataset, batch_size=2, num_workers=1, worker_init_fn=init_fn)
            found = self.verdict_of_workers(loader, sample_copies=copies)
            self.assertEqual(found.workers, workers)

    def test_a_stream_whose_making_is_random_says_nothing_by_its_samples(self):
        found = self.begin(DataLoader(Stream(), batch_size=2))
        for here, there, workers in ((False, False, DISCARDED), (True, False, REFUSED), (False, True, REFUSED)):
            found._is_random = here
            found._comparison = self.played(found, sample_copies=1, seen={**self.nothing, "is_random": there})
            found.before(False)
            self.assertEqual(found.verdict.workers, workers)

    def test_an_error_of_looking_at_the_making_is_raised_and_what_is_gathered_ends_with_the_search(self):
        found = self.begin(DataLoader(support.Numbers(6), batch_size=2))
        found.before(True)
        found._observer.error = ValueError("it broke")
        self.assertRaises(ValueError, found.after, [0], torch.zeros(1), 0.01)
        comparison = found._comparison = self.played(found)
        with mock.patch.object(making, "observe") as observe:
            found.end()
            found._comparison = None
            found.end()
        self.assertEqual((comparison.end.call_count, observe.call_args_list), (1, [mock.call(None)] * 2))

    def test_nothing_is_concluded_before_the_worker_is_done_and_the_loop_is_held_only_for_it(self):
        found = self.begin(DataLoader(support.Numbers(6), batch_size=2))
        found.wait(0.01)
        comparison = found._comparison = mock.Mock(**{"poll.return_value": False})
        found.before(False)
        found.wait(0.01)
        self.assertIsNone(found.verdict)
        comparison.wait.assert_called_once_with(0.01)
