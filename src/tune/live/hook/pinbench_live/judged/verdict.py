"""The settings that a loader may get, and the use of their batches."""

from ..tried.inner import is_stream

HANDED, DISCARDED, REFUSED = "handed", "discarded", "refused"


class Verdict:
    """`workers`: for settings with another number of workers. `reason`: why their batches do not go to the loop."""

    def __init__(self, workers, reason=None, failure=None, without_workers=False, ahead_matters=False):
        self.workers = workers
        self.reason = reason
        # The failure of workers from failures.describe(); None if they were not tried or did not fail.
        self.failure = failure
        # Whether a loader with workers may also run without any.
        self.without_workers = without_workers
        # Whether batches depend on the number drawn ahead of them.
        self.ahead_matters = ahead_matters


def way_of(setting, loader, own, verdict):
    """The use of a setting's batches; None while `verdict` is unknown and would matter."""
    if setting == own or setting["numWorkers"] == own["numWorkers"] == 0 and not is_stream(loader):
        return HANDED
    if verdict is None:
        return None
    if is_stream(loader):
        return verdict.workers
    if setting["numWorkers"] == own["numWorkers"]:
        is_other = verdict.ahead_matters and setting["prefetchFactor"] != own["prefetchFactor"]
        return verdict.workers if is_other else HANDED
    if setting["numWorkers"] == 0:
        return HANDED if verdict.without_workers else REFUSED
    return verdict.workers
