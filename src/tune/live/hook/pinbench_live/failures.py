"""What pinbench is told of a setting that it has tried and that came to nothing."""

from . import deaths
from .probe import probe_module

_TOLD = ("fault", "message", "hint", "traceback")
_HANG = "No batch came from the workers within %.3g s, many times what the script's own batches take."
_HANG_HINT = "A forked worker waits for ever for a lock that another thread held just then, or for a thread that it has not."


def describe(error, inner, has_started):
    """The fields of the message; asked before the workers of `inner` are ended, which tell what they have died of."""
    doing = "LOADING" if has_started else "STARTING"
    faults = probe_module("faults")
    if isinstance(error, deaths.TookTooLong):
        return {**dict.fromkeys(_TOLD), "fault": "hang", "message": _HANG % error.seconds, "hint": _HANG_HINT}
    failure = faults.describe(error, getattr(faults, doing), inner.setting, 0, _Workers(inner))
    return {key: failure[key] for key in _TOLD}


def refusal(reason):
    """Those of a setting that is not tried at all."""
    return {**dict.fromkeys(_TOLD), "fault": "unsafe", "message": "It is not tried: %s." % reason}


class _Workers:
    """As the probe asks its own."""

    def __init__(self, inner):
        self._inner = inner

    def fault(self, error):
        said = str(error)
        if not isinstance(error, deaths.WorkerDied) and not said.startswith("DataLoader worker (pid"):
            return None
        names = probe_module("worker_faults")
        pid, exit_code = deaths.dead_worker(self._inner)
        if exit_code is None:
            pid, exit_code = names.as_torch_says(said)
        return names.describe(pid, exit_code, self, self._inner.folder or "")

    def oom_killed(self):
        """Whether the kernel has killed one for want of memory: not known, as nobody counted before."""
        return None
