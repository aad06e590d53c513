"""Which settings a loader may be given, and what becomes of their batches."""

from .inner import is_stream

HANDED, DISCARDED, REFUSED = "handed", "discarded", "refused"


class Verdict:
    """`workers`: of settings with another number of workers. `reason`: why their batches are not handed to the loop."""

    def __init__(self, workers, reason=None, failure=None, without_workers=False, ahead_matters=False):
        self.workers = workers
        self.reason = reason
        # How workers failed, as failures.describe() has it; None where they were not tried, or did not.
        self.failure = failure
        # Whether a script's loader that has workers may be given none.
        self.without_workers = without_workers
        # Whether batches depend on how many others are drawn ahead of them.
        self.ahead_matters = ahead_matters


def way_of(setting, loader, own, verdict):
    """What becomes of the batches of a setting; None while `verdict` is not known and would count."""
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
