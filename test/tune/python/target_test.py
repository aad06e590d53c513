"""How the probe finds what a target names, and what it does from there until it waits for trials."""

import importlib
import os
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import support
import torch
from torch.utils.data import TensorDataset

from pinbench_probe import making, serve
from pinbench_probe.faults.refusal import Refusal
from pinbench_probe.opened import endless, page_cache, step, suggestions, target
from pinbench_probe.timed import device, trial


class TargetTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        for patched in (mock.patch.object(sys, "path", list(sys.path)), mock.patch.dict(sys.modules)):
            patched.start()
            self.addCleanup(patched.stop)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def refused(self, of, *arguments):
        with self.assertRaises(Refusal) as refused:
            of(*arguments)
        self.assertEqual(refused.exception.kind, "usage")
        return refused.exception.message, refused.exception.hint

    def test_a_file_is_found_by_its_path_and_again_and_its_folder_comes_first(self):
        path = self.write("pinbench_target.py", "value = [5]\n")
        sys.path.append(self.folder)
        self.assertEqual(target.load(path + ":value"), [5])
        self.assertEqual(sys.path[0], self.folder)
        self.assertIs(target.load(path + ":value"), target.load(path + ":value"))

    def test_a_file_that_cannot_be_a_module_is_refused(self):
        for name, message in (
            ("data.v2.py", "cannot be imported."),
            ("threading.py", "has the name of a module that Python or torch itself has loaded."),
        ):
            path = self.write(name, "value = 1\n")
            self.assertEqual(self.refused(target.load, path + ":value")[0], "%s %s" % (path, message))
        plain = self.write("plain", "")
        self.assertEqual(self.refused(target.load, plain + ":value")[0], plain + " cannot be imported.")
        gone = os.path.join(self.folder, "gone")
        for name in ("value", "not a name"):
            self.assertEqual(self.refused(target.check, "%s:%s" % (gone, name))[0], "There is no file %s." % gone)

    def test_an_import_that_fails_is_told_with_what_may_help(self):
        for text, hint in (
            ("from . import sibling\n", "It belongs to a package"),
            ("raise SystemExit(1)\n", "Importing it must not start a training"),
            ("import no_such_module_of_mine\n", "Name the Python of the training's environment"),
            ("raise ValueError('it broke')\n", None),
        ):
            path = self.write("pinbench_target.py", text)
            message, found = self.refused(target.load, path + ":value")
            self.assertIn("pinbench_target.py cannot be imported", message)
            self.assertTrue(found is None if hint is None else found.startswith(hint), found)

    def test_a_module_is_searched_from_the_current_folder_and_one_that_it_lacks_is_another_s(self):
        self.write("pinbench_package/__init__.py", "")
        self.write("pinbench_package/data.py", "value = [5]\n")
        self.write("pinbench_package/lacking.py", "import pinbench_pack\n")
        with mock.patch.object(
            target, "_absolute", lambda path: os.path.join(self.folder, path) if path else self.folder
        ):
            self.assertEqual(target.load("pinbench_package.data:value"), [5])
            for name in ("pinbench_package.gone", "gone_package.data"):
                self.assertEqual(self.refused(target.load, name + ":value")[0], "There is no module %s." % name)
            self.assertIn("cannot be imported", self.refused(target.load, "pinbench_package.lacking:value")[0])

    def test_what_is_no_target_is_answered_with_one_of_the_file_that_it_names(self):
        for given, example in (
            ("my_data.py", "such as my_data.py:make_dataset"),
            ("my_data", "such as train_data.py:make_dataset"),
        ):
            self.assertIn(example, self.refused(target.check, given, "the step")[1])
        self.assertIn("where the step is", self.refused(target.check, "my_data.py", "the step")[0])

    def test_names_are_suggested_by_their_kind_and_then_in_the_order_of_the_file(self):
        path = self.write(
            "pinbench_target.py",
            "from os.path import join\nimport os\n_hidden = 1\nNUMBER = 5\nclass Other: pass\nclass Holder:\n"
            "    def __init__(self): self._own, self.train = holds(), holds()\n"
            "def holds():\n    from torch.utils.data import TensorDataset\n    return TensorDataset()\n"
            "holder = Holder()\ndata = holds()\ndef make(): pass\n",
        )
        hint = self.refused(target.load, path + ":mak")[1]
        self.assertEqual(hint, "Did you mean make? It has holds, make, holder, data, NUMBER, Other and Holder.")
        self.assertEqual(suggestions._parts(importlib.import_module("pinbench_target").holder), [".train"])

    def test_loaders_that_a_framework_only_forbids_and_keys_that_no_target_can_have_are_not_suggested(self):
        class Module:
            def train_dataloader(self):
                pass

            def val_dataloader(self):
                pass

        Module.val_dataloader.__module__ = "lightning.pytorch.core.hooks"
        self.assertEqual(suggestions._parts(Module()), [".train_dataloader"])
        data = support.Numbers(2)
        self.assertEqual(
            suggestions._parts({"train": data, 'a "b"': data, "text": "no data", 3: data}), ['["train"]', "[3]"]
        )

        class Forbidding(dict):
            def items(self):
                raise ValueError("not now")

        self.assertEqual(suggestions._parts(Forbidding()), [])


class ServeTest(unittest.TestCase):
    """With a data set that is given instead of imported."""

    def setUp(self):
        self.options = {
            **{"torch": "train.py:make", "step": None, "rank": None, "batchSize": 4},
            **{"coldFolder": None, "link": False},
        }
        self.data = TensorDataset(torch.arange(6), torch.arange(6))
        for patched in (
            mock.patch.object(target, "check"),
            mock.patch.object(target, "load", side_effect=lambda *_: self.data),
            mock.patch.object(sys, "argv", ["of pinbench"]),
            mock.patch.object(threading, "excepthook", threading.excepthook),
            mock.patch.object(making, "install"),
            mock.patch.object(torch.cuda, "is_available", lambda: False),
        ):
            patched.start()
            self.addCleanup(patched.stop)

    def test_a_data_set_is_opened_as_asked_for_and_as_a_script_of_its_own(self):
        phases = []
        data, first, contents, found = serve.open_data(self.options, phases.append, "/nowhere")
        self.assertEqual(first[0].tolist(), list(endless.shuffled_epochs(6)(0))[:4])
        self.assertEqual((data.tensors, contents.bytes, found.is_cuda), (2, 64, False))
        self.assertEqual(sys.argv, ["train.py"])
        being = (
            "torch was being imported",
            "train.py was being imported",
            "the data set was being made",
            "the first batch was being made",
        )
        self.assertEqual(tuple(phases), being)

    def test_a_step_is_checked_by_what_it_is_for(self):
        self.options.update(step={"function": "a.py:step"})
        serve.open_data(self.options, lambda _: None, "/nowhere")
        checked = [call.args for call in target.check.call_args_list]
        self.assertEqual(checked, [("train.py:make",), ("a.py:step", "the step")])

    def test_the_first_rank_alone_prepares_the_data(self):
        for rank, is_first in ((None, True), ({"index": 0, "count": 2}, True), ({"index": 1, "count": 2}, False)):
            self.options.update(rank=rank)
            with mock.patch("pinbench_probe.opened.opening.Opening") as opening:
                opening.return_value.finish.return_value = self.data
                serve.open_data(self.options, lambda _: None, "/nowhere")
            self.assertIs(opening.call_args.args[0], is_first)

    def test_a_data_set_that_no_loader_takes_is_refused_with_its_own_error_and_a_refusal_stays_what_it_is(self):
        self.data = [1, 2]
        with mock.patch("pinbench_probe.opened.source.Source", side_effect=ValueError("it broke")):
            with self.assertRaisesRegex(Refusal, "train.py:make cannot be put into a DataLoader: ValueError: it broke"):
                serve.open_data(self.options, lambda _: None, "/nowhere")
        self.options["batchSize"] = None
        with self.assertRaisesRegex(Refusal, "^A Dataset alone does not say how large a batch is"):
            serve.open_data(self.options, lambda _: None, "/nowhere")

    def served(self, *commands):
        """What is said, and the trials that are run."""
        said, ran = [], []
        given = iter([*commands, {"type": "exit"}])
        channel = types.SimpleNamespace(
            send=lambda kind, /, **fields: said.append((kind, fields)), next_command=lambda: next(given)
        )
        played = mock.Mock(notes=(), is_cuda=False)
        played.name, played.link.side_effect = None, lambda size: {"bytes": size}
        stops = []
        self.stop = mock.Mock(asked=lambda number: number == 2)
        with mock.patch.object(device, "find", return_value=played), mock.patch.object(
            trial, "Stop", return_value=self.stop
        ), mock.patch.object(
            trial, "Trial", lambda number, setting, *_: mock.Mock(run=lambda: ran.append((number, setting)))
        ):
            serve._serve(channel, self.options, stops, "/nowhere")
        self.assertEqual(stops, [self.stop])
        return said, ran

    def test_it_runs_trials_until_it_is_to_end_and_measures_the_link_only_if_asked_to(self):
        trials = [{"type": "run", "trial": number, "setting": number * 10} for number in (1, 2)]
        for is_asked, link in ((True, {"bytes": 64}), (False, None)):
            self.options["link"] = is_asked
            said, ran = self.served(*trials)
            self.assertEqual(ran, [(1, 10), (2, 20)])
            (ready,) = [fields["facts"] for kind, fields in said if kind == "ready"]
            self.assertEqual((ready["link"], ready["stepNs"]), (link, None))

    def test_files_leave_the_page_cache_before_each_trial_unless_that_is_to_end(self):
        with tempfile.TemporaryDirectory() as folder:
            self.options["coldFolder"] = os.path.relpath(folder)
            goes_on = []
            with mock.patch.object(page_cache, "ColdFolder") as cold:
                cold.return_value.drop.side_effect = lambda ask: goes_on.append(ask())
                said, _ = self.served(*({"type": "run", "trial": number, "setting": None} for number in (1, 2)))
            cold.assert_called_once_with(folder)
        self.assertEqual(goes_on, [True, False])
        self.assertEqual([fields["trial"] for kind, fields in said if kind == "preparing"], [1, 2])

    def test_the_script_s_own_step_is_timed_on_the_first_batch(self):
        self.options["step"] = {"function": "train.py:step"}
        with mock.patch.object(target, "location_of", lambda name: name.partition(":")[0]), mock.patch.object(
            step, "of_user", return_value=("a step", 7)
        ) as of_user:
            said, _ = self.served()
        self.assertEqual(of_user.call_args.args[0], "train.py:step")
        self.assertEqual([batch.numel() for batch in of_user.call_args.args[1]], [4, 4])
        self.assertEqual([fields["facts"]["stepNs"] for kind, fields in said if kind == "ready"], [7])
