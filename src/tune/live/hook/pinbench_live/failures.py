"""What pinbench is told of a setting that it has tried and that came to nothing."""

from . import deaths
from .probe import probe_module

_TOLD = ("fault", "message", "hint", "traceback")


def describe(error, inner, has_started):
    """The fields of the message; asked before the workers of `inner` are ended, which tell what they have died of."""
    doing = "LOADING" if has_started else "STARTING"
    faults = probe_module("faults")
    failure = faults.describe(error, getattr(faults, doing), inner.setting, 0, _Workers(inner))
    return {key: failure[key] for key in _TOLD}


class _Workers:
    """As the probe asks its own."""

    def __init__(self, inner):
        self._inner = inner

    def fault(self, error):
        said = str(error)
        if not isinstance(error, deaths.WorkerDied) and not said.startswith("DataLoader worker (pid"):
            return None
        names = probe_module("worker_faults")
        exit_code = deaths.exit_code(self._inner)
        if exit_code is None:
            exit_code = names.as_torch_says(said)[1]
        return names.describe(None, exit_code, self, None)

    def oom_killed(self):
        """Whether the kernel has killed one for want of memory: not known, as nobody counted before."""
        return None
