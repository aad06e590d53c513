"""How long a tried setting may keep the loop waiting, based on the job's own batches."""

import os

# Shortest limit, because something else may hold the machine up for this long.
LEAST_SECONDS = 5
_BATCHES = 10
# Workers may take this many times as long to start as a single one.
_STARTS = 5
_GRACE_SECONDS, _GRACE_BATCHES = 1, 3


class Patience:
    def __init__(self):
        self._slowest_seconds = 0
        self._start_seconds = 0
        self._cpus = len(os.sched_getaffinity(0))

    def made(self, seconds):
        """Called with the duration of a batch under the script's own setting."""
        self._slowest_seconds = max(self._slowest_seconds, seconds)

    def started(self, seconds):
        """Called with the time from a worker's start to its first batch."""
        self._start_seconds = max(self._start_seconds, seconds)

    def seconds(self, workers, is_first):
        """Limit for the next batch; `is_first` after workers have just started."""
        crowd = max(1, workers / self._cpus)
        start = _STARTS * self._start_seconds if is_first else 0
        return LEAST_SECONDS + crowd * (_BATCHES * self._slowest_seconds + start)

    def grace(self):
        """Limit for a worker to end by itself."""
        return _GRACE_SECONDS + _GRACE_BATCHES * self._slowest_seconds
