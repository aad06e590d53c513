"""Reports the version of torch, and runs the experiments that pinbench asks for."""

import faulthandler
import importlib
import os
import sys

from pinbench_probe import guard
from pinbench_probe.channel import Channel
from pinbench_probe.faults.refusal import Refusal
from pinbench_probe.serve import check_torch

# Each is a module with `run(device, options)`, which returns its figures: times in ns, in lists.
_EXPERIMENTS = ("sent", "overlap", "loader", "rounded")

# Some of torch's error messages list everything that it was built for.
_LONGEST_REASON = 300


def main():
    scratch = os.environ.pop("PINBENCH_PROBE_SCRATCH")
    faulthandler.enable()
    guard.keep_in(scratch)
    channel = Channel(lambda _trial: None)
    try:
        device = _open(channel, channel.next_command()["device"])
    except Refusal as refusal:
        channel.send("refused", message=refusal.message, hint=refusal.hint)
        sys.exit(1)
    while True:
        command = channel.next_command()
        if command["type"] == "exit":
            return
        _answer(channel, command, device)


def _open(channel, ordinal):
    """torch.device of that number, or None if torch has no such GPU; reports to pinbench which torch this is."""
    check_torch()
    import torch

    device, missing, name = None, _why_no_gpu(torch, ordinal), None
    if missing is None:
        try:
            torch.cuda.set_device(ordinal)
            torch.cuda.synchronize()
            device = torch.device("cuda", ordinal)
            name = torch.cuda.get_device_name(device)
        except RuntimeError as error:
            device, missing = None, "torch cannot use the GPU: %s" % _first_line(error)
    channel.send(
        "ready",
        python=sys.executable,
        torch=torch.__version__,
        deviceName=name,
        gpuMissing=missing,
    )
    return device


def _why_no_gpu(torch, ordinal):
    if torch.version.cuda is None:
        return "torch %s of %s is built without CUDA" % (torch.__version__, sys.executable)
    if not torch.cuda.is_available():
        return "torch %s of %s sees no GPU" % (torch.__version__, sys.executable)
    count = torch.cuda.device_count()
    if ordinal >= count:
        return "torch sees %d GPU%s, and device %d is not among them" % (count, "" if count == 1 else "s", ordinal)
    return None


def _answer(channel, command, device):
    name = command["experiment"]
    if name not in _EXPERIMENTS:
        raise ValueError("there is no experiment %s" % name)
    try:
        figures = importlib.import_module("pinbench_explain." + name).run(device, command["options"])
    except Refusal as refusal:
        channel.send("failed", kind=refusal.kind, message=refusal.message, hint=refusal.hint)
    except Exception as error:
        said = "%s: %s" % (type(error).__name__, _first_line(error))
        channel.send("failed", kind="measurement", message=said, hint=None)
    else:
        channel.send("figures", experiment=name, figures=figures)


def _first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0][:_LONGEST_REASON].rstrip(".") if lines else "no reason was given"
