"""Identifies the fault of a trial."""

import errno
import re
import threading
import traceback

from .failure import SHARED_HINT, failure, of_system
from .tracebacks import UserTraceback

STARTING, LOADING, COPYING, STEPPING = "starting", "loading", "copying", "stepping"


class DataEnded(Exception):
    """An iterable data set that gave nothing when restarted."""


# The error that ended torch's pinning thread; one at most.
_pinning_errors = []


def remember_pinning_errors():
    """Records errors that end torch's pinning thread; the main thread learns only that it has ended."""
    previous = threading.excepthook

    def hook(arguments):
        frames = traceback.walk_tb(arguments.exc_traceback)
        if any(frame.f_code.co_name == "_pin_memory_loop" for frame, _ in frames):
            _pinning_errors[:] = [arguments.exc_value]
        previous(arguments)

    threading.excepthook = hook


def describe(error, doing, setting, batches, workers):
    """The failure (failure.py) for an error of the training loop; `doing` is the loop's phase."""
    try:
        pinning_error = _pinning_errors.pop() if _pinning_errors else None
        if pinning_error is not None and "Pin memory thread exited" in str(error):
            error = pinning_error
        return workers.fault(error) or _of_batch(error, doing, setting, batches) or _of_dataset(error, setting)
    except Exception:  # inspecting an error of the user's own may itself fail
        return failure("dataset-raised", "The data set failed: %s." % type(error).__name__, None)


def _of_batch(error, doing, setting, batches):
    if isinstance(error, DataEnded):
        if batches == 0:
            # The very first batch came in this process, before any trial.
            said = "The data set gives no batch %s." % ("in a worker" if setting["numWorkers"] > 0 else "a second time")
            hint = "Have __iter__ begin at the start each time that it is called, in workers as well."
            return failure("data-ended", said, hint)
        said = "The data ended after %d batches, and gave nothing when it was restarted." % batches
        return failure("data-ended", said, "Have __iter__ begin at the start each time that it is called.")
    found = UserTraceback(error)
    system = of_system(found.error, getattr(error, "errno", None))
    if system:
        return dict(system, traceback=found.text)
    if doing == STEPPING:
        said = "The step failed: %s%s." % (found.error.rstrip("."), " (%s)" % found.place if found.place else "")
        return failure("step-raised", said, "It is called with each batch in its turn.", traceback=found.text)
    if doing == COPYING:
        said = "The batch cannot be copied to the device: %s." % found.error.rstrip(".")
        return failure("custom-batch", said, None, traceback=found.text)
    if "pin memory thread" in str(error) or (found.last_file or "").endswith("pin_memory.py"):
        said = "The batch cannot be pinned: %s." % found.error.rstrip(".")
        hint = "A batch of a type of its own needs a pin_memory() method that returns it."
        return failure("custom-batch", said, hint)
    if doing == STARTING and re.search(r"pickle|local object|local class|Can't get attribute", found.error):
        said = "The data set cannot be sent to a worker: %s." % found.error.rstrip(".")
        hint = "Workers that are spawned need it picklable: no lambda, no local class, no open file."
        return failure("not-picklable", said, hint, traceback=found.text)
    return None


def _of_dataset(error, setting):
    found = UserTraceback(error)
    place = " (%s)" % found.place if found.place else ""
    if isinstance(error, SystemExit):
        return failure("dataset-raised", "The data set called sys.exit(%s)%s." % (error.code, place), None)
    if "DataLoader timed out" in found.error:
        hint = "The DataLoader's own timeout ended the trial."
        return failure("hang", "No batch came in time: %s." % found.error.rstrip("."), hint)
    in_semaphore = (found.last_file or "").endswith("synchronize.py")
    if in_semaphore and isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return failure("shared-memory-full", "There is no room for a semaphore in /dev/shm.", SHARED_HINT)
    where = "in a worker" if setting["numWorkers"] > 0 else "in the main process"
    said = "The data set failed %s: %s%s." % (where, found.error.rstrip("."), place)
    return failure("dataset-raised", said, None, traceback=found.text)
