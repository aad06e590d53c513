"""How long a setting that is only tried may keep the loop waiting, by what this job's own batches take."""

import os

# Whatever batches take: something else may hold the machine up for so long.
LEAST_SECONDS = 5
_BATCHES = 10
# The start of workers may take so many times what that of one alone took.
_STARTS = 5
_GRACE_SECONDS, _GRACE_BATCHES = 1, 3


class Patience:
    def __init__(self):
        self._slowest_seconds = 0
        self._start_seconds = 0
        self._cpus = len(os.sched_getaffinity(0))

    def made(self, seconds):
        """A batch of the script's own setting took so long."""
        self._slowest_seconds = max(self._slowest_seconds, seconds)

    def started(self, seconds):
        """A worker that was started came to its first batch in that time."""
        self._start_seconds = max(self._start_seconds, seconds)

    def seconds(self, workers, is_first):
        """For the next batch; `is_first` of workers that have just been started."""
        crowd = max(1, workers / self._cpus)
        start = _STARTS * self._start_seconds if is_first else 0
        return LEAST_SECONDS + crowd * (_BATCHES * self._slowest_seconds + start)

    def grace(self):
        """For a worker to end by itself."""
        return _GRACE_SECONDS + _GRACE_BATCHES * self._slowest_seconds
