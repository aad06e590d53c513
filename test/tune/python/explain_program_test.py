"""The experiments that `pinbench explain` has torch make: what is measured of what, and what is said if that cannot be."""

import os
import sys
import types
import unittest
from unittest import mock

import support  # noqa: F401
import torch

sys.path.append(os.path.join(os.path.dirname(__file__), *[".."] * 3, "src", "explain", "torch", "program"))

from pinbench_explain import loader, overlap, rounded, sent, serve, timing
from pinbench_probe.faults.refusal import Refusal


class TimingTest(unittest.TestCase):
    def test_actions_take_turns_after_a_first_run_that_does_not_count(self):
        done, clock = [], [0]

        def action(name, ns):
            def act():
                done.append(name)
                # A first run takes longer.
                clock[0] += ns if done.count(name) > 1 else 1000

            return act

        with mock.patch.object(timing, "time", types.SimpleNamespace(perf_counter_ns=lambda: clock[0])):
            taken = timing.in_turns({"a": action("a", 5), "b": action("b", 7)}, 3)
        self.assertEqual(taken, {"a": [5] * 3, "b": [7] * 3})
        self.assertEqual(done, ["a", "b"] * 4)

    def test_a_time_has_all_work_of_the_device_that_was_begun_in_it_and_none_from_before(self):
        clock, queued = [0], [100]

        def finish():
            clock[0] += queued[0]
            queued[0] = 0

        cuda = types.SimpleNamespace(is_initialized=lambda: True, synchronize=finish)
        perf = types.SimpleNamespace(perf_counter_ns=lambda: clock[0])
        with mock.patch.object(timing, "torch", types.SimpleNamespace(cuda=cuda)), mock.patch.object(
            timing, "time", perf
        ):
            self.assertEqual(timing.time_ns(lambda: queued.__setitem__(0, queued[0] + 30)), 30)


class Played:
    """A tensor by its name."""

    def __init__(self, name, pinned=False, size=8):
        self.name = name
        self.pinned = pinned
        self.size = size

    def is_pinned(self):
        return self.pinned

    def pin_memory(self):
        return Played(self.name + ", pinned", True)

    def numel(self):
        return self.size

    data_ptr = numel

    def copy_(self, source, non_blocking):
        return source.name


def once(actions, _rounds):
    """Each action's result in place of its times."""
    return {name: action() for name, action in actions.items()}


class SentTest(unittest.TestCase):
    def setUp(self):
        names = iter(("pageable", "in an object", "alone"))
        self.registered = []

        def register(*_):
            self.registered.append("registered")
            return self.refused

        cudart = types.SimpleNamespace(
            cudaHostRegister=register, cudaHostUnregister=lambda _: self.registered.append("given back")
        )
        self.refused = 0
        played = types.SimpleNamespace(
            uint8=torch.uint8,
            ones=lambda _size, dtype: Played(next(names)),
            empty=lambda _size, dtype, device: Played("there"),
            cuda=types.SimpleNamespace(cudart=lambda: cudart, synchronize=lambda: None),
        )
        patched = mock.patch.multiple(sent, torch=played, in_turns=once)
        patched.start()
        self.addCleanup(patched.stop)

    def test_the_sender_copies_both_tensors_before_it_sends_them(self):
        handed = []

        def receive(tensors, device, rounds):
            handed.append((tensors[0].name, tensors[1].data.name, tensors[2].data.name, device, rounds))
            tensors[0].pinned = False
            return {"isPinnedInChild": False}

        with mock.patch.object(sent, "_measure_in_child", receive):
            figures = sent.run("a device", {"bytes": 1 << 20, "rounds": 3})
        self.assertEqual(handed, [("alone, pinned", "in an object, pinned", "pageable", "a device", 3)])
        expected = {"bytes": 1 << 20, "isPinnedBefore": True, "isPinnedAfter": False, "isPinnedInChild": False}
        self.assertEqual(figures, {**expected, "parentPinned": "alone, pinned", "parentPageable": "pageable"})

    def test_what_was_pinned_in_part_was_not_pinned_before(self):
        with mock.patch.object(sent, "_measure_in_child", lambda *_: {}), mock.patch.object(
            Played, "pin_memory", lambda self: Played("", self.name == "alone")
        ):
            self.assertIs(sent.run(None, {"bytes": 1 << 20, "rounds": 1})["isPinnedBefore"], False)

    def received(self):
        return sent._measure_received(Played("alone", True), Played("in an object"), Played("pageable"), None, 1)

    def test_the_receiver_copies_each_as_it_came_and_then_one_of_them_registered(self):
        self.assertEqual(
            self.received(),
            {
                **{"isPinnedInChild": True, "isPinnedInObject": False, "isPinnedRegistered": False},
                **{"childPinned": "alone", "childInObject": "in an object", "childPageable": "pageable"},
                **{"registerRefused": None, "childRegistered": "in an object"},
            },
        )
        self.assertEqual(self.registered, ["registered", "given back"])
        self.refused = 801
        refused = {"registerRefused": 801, "childRegistered": [], "isPinnedRegistered": False}
        self.assertEqual({**self.received(), **refused}, self.received())

    def test_what_the_receiver_gets_is_told_apart_and_what_fails_there_is_told_here(self):
        received = (Played("alone"), sent.Batch(Played("in an object")), sent.Batch(Played("pageable")))
        connection = mock.Mock(**{"recv.return_value": received})
        sent.torch.cuda.set_device = mock.Mock()
        named = lambda *tensors: {"named": [each.name for each in tensors[:3]]}
        for measure, answer in (
            (named, {"named": ["alone", "in an object", "pageable"]}),
            (mock.Mock(side_effect=RuntimeError("it broke")), {"failed": "RuntimeError: it broke"}),
        ):
            with mock.patch.object(sent.guard, "begin_child") as begun, mock.patch.object(
                sent, "_measure_received", measure
            ):
                sent.measure_what_comes(connection, "a device", 3)
            begun.assert_called_once_with()
            sent.torch.cuda.set_device.assert_called_with("a device")
            connection.send.assert_called_with(answer)
            context = mock.Mock(**{"Pipe.return_value": (mock.Mock(**{"recv.return_value": answer}), mock.Mock())})
            sent.torch.multiprocessing = types.SimpleNamespace(get_context=lambda _: context)
            if "failed" not in answer:
                self.assertEqual(sent._measure_in_child("sent", "a device", 3), answer)
                continue
            with self.assertRaisesRegex(
                Refusal, "in the process that the tensors were sent to: RuntimeError: it broke"
            ):
                sent._measure_in_child("sent", "a device", 3)
            context.Process.return_value.join.assert_called_once_with()

    def test_tensors_are_smaller_where_shared_memory_has_less_than_five_times_their_size(self):
        mebi = 1 << 20
        for free, size in ((100 * mebi, 12 * mebi), (52 * mebi, 10 * mebi), (5 * mebi, mebi)):
            stat = types.SimpleNamespace(f_bavail=free // 4096, f_frsize=4096)
            with mock.patch.object(sent.os, "statvfs", lambda _: stat):
                self.assertEqual(sent._that_fits(12 * mebi), size)
        stat = types.SimpleNamespace(f_bavail=mebi, f_frsize=4)
        with mock.patch.object(sent.os, "statvfs", lambda _: stat), self.assertRaises(Refusal) as refused:
            sent._that_fits(12 * mebi)
        self.assertEqual(refused.exception.kind, "unavailable")
        self.assertIn("4096 KiB free", str(refused.exception))


class LoaderTest(unittest.TestCase):
    def test_without_a_gpu_batches_are_made_and_none_is_copied(self):
        figures = loader.run(None, {"rows": 10, "columns": 2, "batch": 4, "rounds": 2})
        self.assertEqual((figures["batches"], figures["pinned"], figures["unpinned"]), (3, [], []))
        self.assertEqual(len(figures["uncopied"]), 2)


class OverlapTest(unittest.TestCase):
    def setUp(self):
        self.done = []
        self.stream = "one stream"

        test = self

        class Stream:
            def __init__(self, _):
                pass

            def __enter__(self):
                test.stream = "own stream"

            def __exit__(self, *_):
                test.stream = "one stream"

        def to(self, _device, non_blocking):
            test.done.append((self.name, test.stream))

        played = types.SimpleNamespace(
            uint8=torch.uint8,
            ones=lambda _size, dtype: Played("pageable"),
            zeros=lambda *_, device: None,
            empty_like=lambda _: None,
            mm=lambda *_, out: test.done.append("a product"),
            cuda=types.SimpleNamespace(Stream=Stream, stream=lambda of: of),
        )

        def time_ns(action):
            test.done.clear()
            action()
            if ("pageable, pinned", "one stream") in test.done:
                return 5
            # The slower copy takes as long as 3 products.
            return 10 * sum(each == "a product" for each in test.done) or 30

        def in_turns(actions, _rounds):
            found = {}
            for name, action in actions.items():
                test.done.clear()
                for _ in range(3):
                    action()
                found[name] = list(test.done[: len(test.done) // 3])
            return found

        for of, name, value in (
            (overlap, "torch", played),
            (overlap, "time_ns", time_ns),
            (overlap, "in_turns", in_turns),
            (Played, "to", to),
        ):
            patched = mock.patch.object(of, name, value, create=True)
            patched.start()
            self.addCleanup(patched.stop)

    def test_each_kind_is_copied_alone_and_after_a_computation_that_takes_as_long_in_one_stream_and_in_its_own(self):
        figures = overlap.run(None, {"bytes": 8, "rounds": 2})
        compute = ["a product"] * 3
        self.assertEqual(figures["compute"], compute)
        for name, tensor in (("pinned", "pageable, pinned"), ("pageable", "pageable")):
            self.assertEqual(figures[name + "Copy"], [(tensor, "one stream")])
            self.assertEqual(figures[name + "OneStream"], compute + [(tensor, "one stream")])
            self.assertEqual(figures[name + "OwnStream"], compute + [(tensor, "own stream")])
            # The first call is none of a round's.
            self.assertEqual(len(figures[name + "Call"]), 2)


class RoundedTest(unittest.TestCase):
    def test_what_torch_holds_grows_by_the_larger_tensor_of_each_round_alone(self):
        held, pinned = [0], []

        def empty(count, dtype, pin_memory):
            held[0] += 2 * count
            pinned.append(count)

        cuda = types.SimpleNamespace(host_memory_stats=lambda: {"allocated_bytes.current": held[0]})
        played = types.SimpleNamespace(uint8=torch.uint8, empty=empty, cuda=cuda)
        timed = lambda action: action() or pinned[-1] + 0.5
        with mock.patch.object(rounded, "torch", played), mock.patch.object(rounded, "time_ns", timed):
            figures = rounded.run(None, {"bytes": 17, "evenBytes": 16, "rounds": 2})
            self.assertEqual(pinned, [1, 17, 16, 17, 16])
            expected = {"bytes": 17, "evenBytes": 16, "hasStatistics": True}
            self.assertEqual(figures, {**expected, "pinned": [34] * 2, "uneven": [17.5] * 2, "even": [16.5] * 2})
            # Once it has nothing to pin any more.
            cuda.host_memory_stats = mock.Mock(side_effect=[{"allocated_bytes.current": at} for at in (0, 34, 34, 40)])
            self.assertRaises(Refusal, rounded.run, None, {"bytes": 17, "evenBytes": 16, "rounds": 2})


class ServeTest(unittest.TestCase):
    def test_a_gpu_is_missing_for_the_first_reason_that_there_is(self):
        for cuda, available, count, ordinal, reason in (
            (None, False, 0, 0, "is built without CUDA"),
            ("13.0", False, 0, 0, "sees no GPU"),
            ("13.0", True, 1, 1, "torch sees 1 GPU, and device 1 is not among them"),
            ("13.0", True, 2, 3, "torch sees 2 GPUs, and device 3 is not among them"),
            ("13.0", True, 2, 1, None),
        ):
            played = types.SimpleNamespace(
                __version__="2.11.0",
                version=types.SimpleNamespace(cuda=cuda),
                cuda=types.SimpleNamespace(is_available=lambda: available, device_count=lambda: count),
            )
            found = serve._why_no_gpu(played, ordinal)
            self.assertTrue(found is None if reason is None else found.endswith(reason), found)

    def answer(self, **run):
        said = []
        channel = types.SimpleNamespace(send=lambda kind, /, **fields: said.append({"type": kind, **fields}))
        module = types.SimpleNamespace(run=mock.Mock(**run))
        with mock.patch.object(serve.importlib, "import_module", return_value=module) as imported:
            serve._answer(channel, {"experiment": "sent", "options": {"rounds": 3}}, "a device")
        imported.assert_called_once_with("pinbench_explain.sent")
        module.run.assert_called_once_with("a device", {"rounds": 3})
        return said

    def test_an_experiment_is_answered_with_its_figures_or_with_the_reason_why_it_has_none(self):
        figures = {"type": "figures", "experiment": "sent", "figures": {"bytes": 1}}
        self.assertEqual(self.answer(return_value={"bytes": 1}), [figures])
        for error, told in (
            (Refusal("unavailable", "no room", "a hint"), ("unavailable", "no room", "a hint")),
            (RuntimeError("CUDA error.\nmore of it"), ("measurement", "RuntimeError: CUDA error", None)),
            (ValueError("x" * 400), ("measurement", "ValueError: " + "x" * 300, None)),
            (KeyError(), ("measurement", "KeyError: no reason was given", None)),
        ):
            (said,) = self.answer(side_effect=error)
            self.assertEqual((said["type"], said["kind"], said["message"], said["hint"]), ("failed", *told))

    def test_nothing_else_of_the_package_is_an_experiment(self):
        with self.assertRaises(ValueError):
            serve._answer(None, {"experiment": "serve", "options": {}}, None)
