"""Identifies the cause of a worker's death."""

import json
import re
import signal

from ..worker_start import UNSENDABLE, unsendable_file
from .failure import MEMORY_HINT, SHARED_HINT, failure, of_system


def as_torch_says(text):
    """(pid, exit code) from the text of torch's error; (None, None) if it has none. Needed if torch's error interrupted
    multiprocessing just when it had read the exit code, which is then lost.
    """
    found = re.search(r"worker \(pid (\d+)\) (?:is killed by signal: ([^.]+)|exited .*with exit code (\d+))\.", text)
    if found is None:
        return None, None
    if found[3] is not None:
        return int(found[1]), int(found[3])
    numbers = [each for each in signal.valid_signals() if signal.strsignal(each) == found[2]]
    return (int(found[1]), -numbers[0]) if numbers else (None, None)


def describe(pid, exit_code, usage, scratch):
    """The failure for a worker's exit code from multiprocessing: below 0 for a signal; None if unknown."""
    if exit_code is None:
        return failure("worker-killed", "A worker ended for an unknown reason.", None)
    if exit_code == UNSENDABLE:
        return _unsendable(pid, scratch)
    if exit_code >= 0:
        said = "A worker ended by itself, with exit code %d." % exit_code
        return failure("worker-killed", said, "The data set, or a library that it uses, ended it.")
    number = -exit_code
    if number == signal.SIGBUS:
        return failure("shared-memory-full", "A worker died of a bus error: /dev/shm is full.", SHARED_HINT)
    if number == signal.SIGKILL:
        return failure("worker-killed", *_killed(usage.oom_killed()))
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = "signal %d" % number
    if number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE):
        hint = "Some library of the data set crashes in a forked worker; multiprocessing_context='spawn' often helps."
        return failure("worker-killed", "A worker crashed in native code (%s)." % name, hint)
    return failure("worker-killed", "A worker was killed (%s)." % name, None)


def _killed(for_memory):
    """Message and hint for a SIGKILL; `for_memory` is Usage.oom_killed()."""
    if for_memory:
        return "The kernel killed a worker because memory ran out.", MEMORY_HINT
    if for_memory is None:
        return (
            "A worker was killed (SIGKILL), most likely because memory ran out.",
            MEMORY_HINT + " See the kernel log (dmesg).",
        )
    return (
        "A worker was killed (SIGKILL), though the kernel has counted no kill for memory.",
        "Most likely something else guards the memory (a job scheduler, systemd-oomd, earlyoom). " + MEMORY_HINT,
    )


def _unsendable(pid, scratch):
    """The failure of a worker that could not send its batch and left a file about it."""
    try:
        with open(unsendable_file(scratch, pid)) as file:
            last = json.load(file)["text"].rstrip().split("\n")[-1]
    except (OSError, ValueError):
        last = "its error is lost"
    return of_system(last, None) or failure(
        "not-picklable",
        "A worker cannot send its batch: %s." % last.rstrip("."),
        "A batch must be picklable to come from a worker; have collate_fn return tensors and plain values.",
    )
