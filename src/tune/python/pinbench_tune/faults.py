"""What failed and why: errors that keep a probe from opening, and the faults of trials."""

import errno
import os
import re
import signal
import sysconfig
import traceback

STARTING, LOADING, COPYING, STEPPING = "starting", "loading", "copying", "stepping"

_STANDARD = os.path.realpath(sysconfig.get_paths()["stdlib"]) + os.sep
_OWN = os.path.dirname(os.path.realpath(__file__)) + os.sep
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+)(?P<function>, in .+)?$')
_ORIGINAL = "Original Traceback (most recent call last):\n"

_SHARED_HINT = "Give /dev/shm more room (docker run --shm-size=8g), or use fewer workers, a lower prefetch or smaller batches."
_MEMORY_HINT = "Use fewer workers, a lower prefetch or smaller batches."
_RESTART_HINT = "Have __iter__ begin at the start each time that it is called, in workers as well."
# System failures: pattern of the error, errno, fault, sentence (with the error), hint.
_OF_SYSTEM = (
    (
        r"Cannot re-initialize CUDA in forked|cannot pin '.*' only dense CPU", None, "device-tensors",
        "The data set uses the GPU, which a forked worker cannot.",
        "Have the Dataset return CPU tensors and copy them in the training loop, or stay with num_workers=0.",
    ),
    (
        r"Too many open files|received 0 items of ancdata", errno.EMFILE, "too-many-files",
        "The batches under way need more open files than are allowed.",
        "Raise the limit (ulimit -n), or share batches by name: torch.multiprocessing.set_sharing_strategy('file_system').",
    ),
    (
        r"</torch_|shared memory\(shm\)|shared memory object", None, "shared-memory-full",
        "There is no room for the batches in /dev/shm.", _SHARED_HINT,
    ),
    (
        r"CUDA out of memory|CUDA error: out of memory", None, "out-of-memory",
        "The GPU's memory, or memory to pin, ran out.", _MEMORY_HINT,
    ),
    (r"CUDA error|CUDA driver error|cudaError|CUBLAS_STATUS", None, "device-error", "The GPU reported an error: %s.", None),
    (
        r"^MemoryError|can't allocate memory|Cannot allocate memory", errno.ENOMEM, "out-of-memory",
        "Memory ran out: %s.", _MEMORY_HINT,
    ),
)


class Refusal(Exception):
    """Becomes a PinbenchError: a kind (`usage`, `unavailable` or `measurement`), a sentence and a hint."""

    def __init__(self, kind, message, hint=None, traceback=None):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.traceback = traceback


class DataEnded(Exception):
    """The data set gave nothing when it was restarted."""


class UserTraceback:
    """`text`: the user's frames; `place`: "train_data.py:12" or None; `error`: such as "ValueError: bad sample"."""

    def __init__(self, error):
        message = str(error)
        if _ORIGINAL in message:
            # torch made this error from the text of a worker's exception.
            full = message.split(_ORIGINAL, 1)[1]
        else:
            full = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        lines = full.rstrip().split("\n")
        last = max((number for number, line in enumerate(lines) if line.startswith("  ")), default=-1)
        self.error = next((line.strip() for line in lines[last + 1 :] if line.strip()), "")
        kept, is_users = [], False
        self.place = None
        for line in lines[: last + 1]:
            found = _FRAME.match(line)
            if found:
                is_users = not is_library(found["file"])
                if is_users:
                    self.place = "%s:%s" % (shorten(found["file"]), found["line"])
            elif not line.startswith("    "):
                is_users = False
            if is_users:
                kept.append(line)
        self.text = "\n".join([*(["Traceback (most recent call last):"] if kept else []), *kept, *lines[last + 1 :]])


def is_library(path):
    """Whether the file belongs to Python, an installed package or pinbench, so that the user cannot change it."""
    path = os.path.realpath(path)
    return bool(re.search("/(site|dist)-packages/", path)) or path.startswith((_STANDARD, _OWN)) or not os.path.exists(path)


def shorten(path):
    """The path relative to the working folder, if it lies below."""
    try:
        relative = os.path.relpath(path)
    except OSError:  # the folder is gone
        return path
    return path if relative.startswith("..") else relative


def refuse_for(error, what, kind="measurement", hint=None):
    """A Refusal for an error in the user's code, such as "`what`: ValueError: bad sample (train_data.py:12)."."""
    found = UserTraceback(error)
    return Refusal(kind, "%s: %s." % (what, _said(error, found)), hint, found.text)


def _said(error, found):
    said = "it called sys.exit(%s)" % error.code if isinstance(error, SystemExit) else found.error.rstrip(".")
    return said + (" (%s)" % found.place if found.place else "")


def describe(error, doing, setting, batches, workers):
    """The failure of a trial, in the form of failureSchema in src/results/tuning.ts. `doing`: phase of the loop;
    `workers`: processes of its loader.
    """
    found = UserTraceback(error)
    fault, message, hint = (
        _of_worker(error, workers)
        or _of_end(error, setting, batches)
        or of_system(found.error, getattr(error, "errno", None))
        or _of_phase(doing, found)
        or _of_dataset(error, setting, found)
    )
    text = None if fault in ("worker-killed", "data-ended") else found.text
    return {"fault": fault, "message": message, "hint": hint, "traceback": text, "everywhere": False}


def of_system(text, number):
    for pattern, errno_of_it, fault, message, hint in _OF_SYSTEM:
        if re.search(pattern, text) or errno_of_it is not None and number == errno_of_it:
            return fault, message % text.rstrip(".") if "%s" in message else message, hint
    return None


def _of_worker(error, workers):
    """The failure that a worker's exit code explains; None if no worker's death caused the error."""
    # The other types are errors from reading a dead worker's socket.
    if "DataLoader worker (pid" not in str(error) and not isinstance(error, (ConnectionError, EOFError, FileNotFoundError)):
        return None
    for worker in workers:
        worker.join(0.1)
    codes = [worker.exitcode for worker in workers if worker.exitcode is not None]
    if not codes:
        return None
    # Code 0 counts too (os._exit(0) in a data set), but a failed worker explains more.
    code = next((code for code in codes if code != 0), 0)
    if code >= 0:
        said = "A worker ended by itself, with exit code %d." % code
        return "worker-killed", said, "The data set, or a library that it uses, ended it."
    name = signal.Signals(-code).name if -code in list(signal.Signals) else "signal %d" % -code
    if -code == signal.SIGBUS:
        return "shared-memory-full", "A worker died of a bus error: /dev/shm is full.", _SHARED_HINT
    if -code == signal.SIGKILL:
        said = "A worker was killed (SIGKILL), most likely because memory ran out."
        return "worker-killed", said, _MEMORY_HINT + " See the kernel log (dmesg)."
    if -code in (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE):
        hint = "Some library of the data set crashes in a forked worker; multiprocessing_context='spawn' often helps."
        return "worker-killed", "A worker crashed in native code (%s)." % name, hint
    return "worker-killed", "A worker was killed (%s)." % name, None


def _of_end(error, setting, batches):
    if not isinstance(error, DataEnded):
        return None
    if batches > 0:
        said = "The data ended after %d batches, and gave nothing when it was restarted." % batches
    else:
        # The first batch was made in this process, before any trial.
        said = "The data set gives no batch %s." % ("in a worker" if setting["numWorkers"] > 0 else "a second time")
    return "data-ended", said, _RESTART_HINT


def _of_phase(doing, found):
    said = found.error.rstrip(".")
    if doing == STEPPING:
        place = " (%s)" % found.place if found.place else ""
        return "step-raised", "The step failed: %s%s." % (said, place), "It is called with each batch in its turn."
    if doing == COPYING:
        return "custom-batch", "The batch cannot be copied to the device: %s." % said, None
    if re.search("pin memory thread|pin_memory", said, re.I):
        hint = "A batch of a type of its own needs a pin_memory() method that returns it."
        return "custom-batch", "The batch cannot be pinned: %s." % said, hint
    if re.search(r"[Cc]an(not|'t) pickle|PicklingError|Can't get (local object|attribute)", said):
        if doing == STARTING:
            hint = "Workers that are spawned need it picklable: no lambda, no local class, no open file."
            return "not-picklable", "The data set cannot be sent to a worker: %s." % said, hint
        hint = "A batch must be picklable to come from a worker; have collate_fn return tensors and plain values."
        return "not-picklable", "A worker cannot send its batch: %s." % said, hint
    return None


def _of_dataset(error, setting, found):
    if "DataLoader timed out" in found.error:
        return "hang", "No batch came in time: %s." % found.error.rstrip("."), "The trial was given up at this limit."
    where = "in a worker" if setting["numWorkers"] > 0 else "in the main process"
    return "dataset-raised", "The data set failed %s: %s." % (where, _said(error, found)), None
