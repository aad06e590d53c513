"""What the probe makes of a given loader, and how it handles the files, batches and modules of its data."""

import os
import tempfile
import threading
import types
import unittest
from unittest import mock

import support
import torch
from torch.utils.data import DataLoader

from pinbench_probe.opened.opening import Opening
from pinbench_probe.opened import step
from pinbench_probe.opened.page_cache import ColdFolder
from pinbench_probe.opened.source import Source
from pinbench_probe.timed.consumers import HostConsumer


class SourceTest(unittest.TestCase):
    def source(self, length, **arguments):
        return Source(DataLoader(support.Numbers(length), **arguments), None, None, False, 0, "/nowhere")

    def test_what_the_script_s_loader_sets_is_that_of_trials_too(self):
        generator = torch.Generator()
        given = {"timeout": 7, "multiprocessing_context": "spawn", "num_workers": 1}
        source = self.source(10, batch_size=4, drop_last=True, generator=generator, collate_fn=list, **given)
        for workers in (0, 2):
            loader = source.loader(workers)
            self.assertEqual((loader.batch_size, loader.drop_last), (4, True))
            self.assertIs(loader.generator, generator)
            self.assertIs(loader.collate_fn, list)
            # DataLoader accepts none of these without workers.
            self.assertEqual(loader.timeout, 7 if workers > 0 else 0)
            context = loader.multiprocessing_context
            self.assertEqual(context and context.get_start_method(), "spawn" if workers > 0 else None)

    def test_an_epoch_has_a_last_smaller_batch_unless_that_is_dropped(self):
        for length, drop_last, batches in ((10, False, 3), (10, True, 2), (8, False, 2), (8, True, 2)):
            source = self.source(length, batch_size=4, drop_last=drop_last)
            self.assertEqual((source.batch_size, source.epoch_batches()), (4, batches))


class HostConsumerTest(unittest.TestCase):
    def test_a_batch_arrives_before_its_step(self):
        events = []
        tell = types.SimpleNamespace(arrived=lambda _ns: events.append("arrived"))
        consumer = HostConsumer(lambda batch: events.append(batch), tell)
        for batch in (1, 2):
            consumer.take(batch)
        self.assertEqual(events, ["arrived", 1, "arrived", 2])


class ColdFolderTest(unittest.TestCase):
    def test_a_named_pipe_among_the_files_is_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(os.path.join(folder, "pipe"))
            dropping = threading.Thread(target=ColdFolder(folder).drop, args=[lambda: True], daemon=True)
            dropping.start()
            dropping.join(20)
            self.assertFalse(dropping.is_alive())


class LightningDataModule:
    def __init__(self):
        self.calls = []

    def prepare_data(self):
        self.calls.append("prepare_data")

    def setup(self, stage):
        self.calls.append(stage)


class OpeningTest(unittest.TestCase):
    def test_one_rank_of_a_node_prepares_the_data_and_each_sets_up_its_own(self):
        for is_first, calls in ((True, ["prepare_data", "fit"]), (False, ["fit"])):
            module = LightningDataModule()
            Opening({}, is_first, lambda: None).before(module, "module", "train_dataloader")
            self.assertEqual(module.calls, calls)


class StepTest(unittest.TestCase):
    def test_a_stand_in_that_is_timed_in_part_takes_the_time_of_all_its_products(self):
        timed = []

        def time_ns(action):
            with mock.patch.object(torch, "matmul", side_effect=lambda *_, **__: timed.append(1)):
                before = len(timed)
                action()
            return 1000 * (len(timed) - before)

        device = types.SimpleNamespace(is_cuda=False, torch_device="cpu", time_ns=time_ns)
        # Pictures of ResNet-50 on a CPU: 45 products of matrices of 512 x 512.
        start, took_ns = step.make("auto", 602_112, device, lambda: None)
        self.assertEqual(took_ns, 1000 * 45)
        self.assertEqual(time_ns(lambda: start(None)), 1000 * 45)


if __name__ == "__main__":
    unittest.main()
