"""Opens the data set and runs trials for pinbench."""

import faulthandler
import os
import sys

from . import guard
from .channel import Channel
from .faults import Refusal, refuse_for
from .load import target
from .workers import write_stack_on_signal


def main():
    scratch = os.environ["PINBENCH_PROBE_SCRATCH"]
    # After a crash in native code, stderr has the user's line.
    faulthandler.enable()
    write_stack_on_signal(scratch, "main")
    guard.keep_in(scratch)
    stops = []
    channel = Channel(lambda trial: [stop.ask(trial) for stop in stops])
    try:
        _serve(channel, channel.next_command(), stops, scratch)
    except Refusal as refusal:
        channel.send("refused", **vars(refusal))
        sys.exit(1)


def _serve(channel, options, stops, scratch):
    def phase(doing):
        channel.send("phase", phase=doing)

    # The data set may change the current folder later.
    cold_folder = None if options["coldFolder"] is None else os.path.abspath(options["coldFolder"])
    if cold_folder is not None and not os.path.isdir(cold_folder):
        said = "There is no folder %s." % options["coldFolder"]
        raise Refusal("usage", said, "--data names the folder of the data set's files.")
    data, first, contents, device = open_data(options, phase, scratch)
    from .load import source, step
    from .measure import trial

    def measuring():
        phase("the device was being measured")

    measuring()
    link = device.link(contents.bytes) if options["link"] else None
    function = (options["step"] or {}).get("function")
    if function is None:
        time_ns = None if options["step"] is None else options["step"]["timeNs"]
        run_step, step_ns = step.make(time_ns, contents.bytes, device, measuring)
    else:
        phase("%s was being imported" % target.location_of(function))
        run_step, step_ns = step.of_user(function, first, device, lambda: phase("the step was being timed"))
    stop = trial.Stop()
    stops.append(stop)
    channel.send("ready", facts=collect_facts(data, contents, device, link, step_ns))
    del first, contents

    def goes_on(number):
        channel.send("preparing", trial=number)
        return not stop.asked(number)

    is_written = False
    while True:
        command = channel.next_command()
        if command["type"] == "exit":
            return
        number = command["trial"]
        if cold_folder is not None:
            source.drop_files(cold_folder, is_written, lambda: goes_on(number))
            is_written = True
        trial.Trial(number, command["setting"], data, device, run_step, channel, stop, scratch).run()


def open_data(options, phase, scratch):
    """Imports torch and the target, and makes the data set and a first batch: (source, batch, contents, device). Raises
    a Refusal if that fails. Calls `phase` with each phase, such as "the data set was being made".
    """
    target.check(options["torch"])
    function = (options["step"] or {}).get("function")
    if function is not None:
        target.check(function, "the step")
    phase("torch was being imported")
    check_torch()
    from torch.utils.data._utils import signal_handling

    from .batch import Contents
    from .load import source
    from .measure import consumers

    # Disables torch's handler, which raises errors about dead workers anywhere; waiting for a batch finds them too.
    signal_handling._SIGCHLD_handler_set = True
    rank = options["rank"]
    device = consumers.find_device(rank)
    location = target.location_of(options["torch"])
    phase("%s was being imported" % location)
    sys.argv = [location]
    named = target.load(options["torch"])
    making = "the data set was being made"
    phase(making)
    made = target.make(named, options["torch"], rank is None or rank["index"] == 0, lambda: phase(making))
    try:
        data = source.Source(made, options["batchSize"], scratch)
    except Refusal:
        raise
    except Exception as error:  # for example from its __len__
        raise refuse_for(error, "%s cannot be put into a DataLoader" % options["torch"]) from None
    phase("the first batch was being made")
    try:
        first = next(iter(data.loader(0)))
    except StopIteration:
        raise Refusal("measurement", "The data set gives no batch.", "Its first epoch is empty.") from None
    except (Exception, SystemExit) as error:
        hint = "It fails without workers as well; check that a plain loop over the DataLoader runs."
        raise refuse_for(error, "The data set cannot make a batch", hint=hint) from None
    return data, first, Contents(first), device


def collect_facts(source, contents, device, link, step_ns):
    """ProbeFacts of src/tune/loader-probe.ts, without the kind and source, which pinbench knows."""
    from . import facts

    of_batch = facts.of_batch(contents, source.batch_size, device.name, "torch sees no GPU")
    notes = source.notes()
    for name in contents.unpinnable:
        notes.append("Batches hold a %s, which has no pin_memory(): torch silently does not pin it." % name)
    return {
        **of_batch,
        "epochBatches": source.epoch_batches(),
        "startingPoint": None if source.given is None else facts.setting_of(source.given),
        "link": link,
        "stepNs": step_ns,
        "notes": notes + device.notes,
    }


def check_torch():
    """Raises a Refusal if this Python has no torch, or one that is too old."""
    version = sys.version.split()[0]
    try:
        import torch
    except ImportError as error:
        is_missing = getattr(error, "name", None) == "torch"
        why = "has no torch" if is_missing else "cannot import torch: %s" % str(error).rstrip(".")
        said = "%s (Python %s) %s." % (sys.executable, version, why)
        raise Refusal("unavailable", said, "Name the Python of the training's environment with --python.") from None
    numbers = tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in torch.__version__.split(".")[:2])
    if numbers < (1, 13):
        said = "torch %s is too old." % torch.__version__
        raise Refusal("unavailable", said, "pinbench needs torch 1.13 or newer.")
