"""Opens the data set and runs trials for pinbench."""

import faulthandler
import os
import sys

from . import guard, making
from .channel import Channel
from .faults.refusal import Refusal
from .opened import page_cache, target
from .worker_start import tell_where_on_signal


def main():
    scratch = os.environ.pop("PINBENCH_PROBE_SCRATCH")
    # A crash in native code leaves the user's line on stderr, where pinbench finds it.
    faulthandler.enable()
    tell_where_on_signal(scratch, "main")
    guard.keep_in(scratch)
    stops = []
    channel = Channel(lambda trial: [stop.ask(trial) for stop in stops])
    try:
        _serve(channel, channel.next_command(), stops, scratch)
    except Refusal as refusal:
        channel.send(
            "refused",
            kind=refusal.kind,
            message=refusal.message,
            hint=refusal.hint,
            traceback=refusal.traceback,
        )
        sys.exit(1)


def _serve(channel, options, stops, scratch):
    def phase(doing):
        channel.send("phase", phase=doing)

    # Now, because the data set may change the current folder.
    cold_folder = None if options["coldFolder"] is None else os.path.abspath(options["coldFolder"])
    if cold_folder is not None and not os.path.isdir(cold_folder):
        said = "There is no folder %s." % options["coldFolder"]
        raise Refusal("usage", said, "--data names the folder of the data set's files.")
    data, first, contents, device = open_data(options, phase, scratch)
    from . import facts
    from .opened import step
    from .timed import trial

    def measuring():
        phase("the device was being measured")

    measuring()
    link = device.link(contents.bytes) if options["link"] else None
    function = _step_function(options)
    if function is None:
        time_ns = None if options["step"] is None else options["step"]["timeNs"]
        run_step, step_ns = step.make(time_ns, contents.bytes, device, measuring)
    else:
        phase("%s was being imported" % target.location_of(function))
        run_step, step_ns = step.of_user(function, first, device, lambda: phase("the step was being timed"))
    stop = trial.Stop()
    stops.append(stop)
    channel.send("ready", facts=facts.collect(data, contents, device, link, step_ns))
    del first, contents

    cold = None if cold_folder is None else page_cache.ColdFolder(cold_folder)

    def goes_on(number):
        channel.send("preparing", trial=number)
        return not stop.asked(number)

    while True:
        command = channel.next_command()
        if command["type"] == "exit":
            return
        number, setting = command["trial"], command["setting"]
        if cold is not None:
            cold.drop(lambda: goes_on(number))
        trial.Trial(number, setting, data, device, run_step, channel, stop, scratch).run()


def open_data(options, phase, scratch):
    """Imports torch and the target, and makes the data set and a first batch: (source, batch, contents, device). Raises
    a Refusal if that fails. `phase` is called with each phase, such as "the data set was being made".
    """
    target.check(options["torch"])
    function = _step_function(options)
    if function is not None:
        target.check(function, "the step")
    phase("torch was being imported")
    check_torch()
    making.install(scratch)
    from . import facts
    from .faults import loop_faults, tracebacks
    from .opened import opening, source
    from .timed import device as devices

    loop_faults.remember_pinning_errors()
    device = devices.find(options["rank"])
    location = target.location_of(options["torch"])
    phase("%s was being imported" % location)
    sys.argv = [location]
    rank = options["rank"]
    opener = opening.Opening(rank is None or rank["index"] == 0, lambda: phase("the data set was being made"))
    made_of = target.load(options["torch"], opener)
    phase("the data set was being made")
    made = opener.finish(made_of, options["torch"])
    try:
        data = source.Source(made, options["batchSize"], scratch)
    except Exception as error:  # for example of its __len__
        if isinstance(error, Refusal):
            raise
        raise tracebacks.refuse_for(error, "%s cannot be put into a DataLoader" % options["torch"]) from None
    phase("the first batch was being made")
    first, contents = facts.first_batch(data)
    data.tensors = max(1, len(contents.tensors))
    return data, first, contents, device


def _step_function(options):
    """FILE:FUNCTION of the user's own step; None for a simulated one, or none."""
    return None if options["step"] is None else options["step"].get("function")


def check_torch():
    """Raises a Refusal if this Python has no torch, or one that is too old."""
    version = sys.version.split()[0]
    try:
        import torch
    except ImportError as error:
        if getattr(error, "name", None) == "torch":
            said = "%s (Python %s) has no torch." % (sys.executable, version)
        else:
            said = "%s (Python %s) cannot import torch: %s." % (sys.executable, version, str(error).rstrip("."))
        hint = "Name the Python of the training's environment with --python."
        raise Refusal("unavailable", said, hint) from None
    numbers = tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in torch.__version__.split(".")[:2])
    if numbers < (1, 13):
        said = "torch %s is too old." % torch.__version__
        raise Refusal("unavailable", said, "pinbench needs torch 1.13 or newer.")
