"""Reports to pinbench on a tried setting that failed."""

from ..probe import probe_module
from . import deaths

_TOLD = ("fault", "message", "hint", "traceback")
_HANG = "No batch came from the workers within %.3g s, many times what the script's own batches take."
_HANG_HINT = "A forked worker waits forever for a lock that another thread held at the fork, or for a thread that it does not have."


def describe(error, inner, has_started):
    """The fields of the message; needs the workers of `inner`, which know how they died, before they are ended."""
    doing = "LOADING" if has_started else "STARTING"
    loop_faults = probe_module("faults.loop_faults")
    if isinstance(error, deaths.TookTooLong):
        return {**dict.fromkeys(_TOLD), "fault": "hang", "message": _HANG % error.seconds, "hint": _HANG_HINT}
    failure = loop_faults.describe(error, getattr(loop_faults, doing), inner.setting, 0, _Workers(inner))
    return {key: failure[key] for key in _TOLD}


def refusal(reason):
    """The fields for a setting that is not tried at all."""
    return {**dict.fromkeys(_TOLD), "fault": "unsafe", "message": "It is not tried: %s." % reason}


class _Workers:
    """The same question as in the probe."""

    def __init__(self, inner):
        self._inner = inner

    def fault(self, error):
        said = str(error)
        if not isinstance(error, deaths.WorkerDied) and not said.startswith("DataLoader worker (pid"):
            return None
        names = probe_module("faults.worker_faults")
        pid, exit_code = deaths.dead_worker(self._inner)
        if exit_code is None:
            pid, exit_code = names.as_torch_says(said)
        return names.describe(pid, exit_code, self, self._inner.folder or "")

    def oom_killed(self):
        """Whether the kernel killed one because memory was short: unknown, because there is no earlier count."""
        return None
