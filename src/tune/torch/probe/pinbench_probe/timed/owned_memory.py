"""Memory that workers own by the end of an epoch.

A forked worker shares the training process' memory, and gets copies of its own, page by page, as it writes
to it; reading a Python object is enough, as that counts a reference. A short trial sees only the beginning.
"""

import re
import threading

# Only private mappings: memory shared on purpose (batches in flight) is never copied.
_FIELD = re.compile(rb"^(?:[0-9a-f]+-[0-9a-f]+ ..(?P<kind>..) |Shared_Dirty: +(?P<kilobytes>\d+) kB)", re.M)
# Number of last samples of a worker that are compared.
_LOOKS = 3
# Smaller growth per sample is normal for Python and ends soon: a page in eight samples.
_LEAST_BYTES_PER_SAMPLE = 512


class OwnedMemory:
    """For one trial. `count` is called with the number of batches so far, `over_epoch` at the end, before the workers
    end.
    """

    def __init__(self, num_workers):
        self._num_workers = num_workers
        # Sampled when each worker has made a batch, and again at twice as many.
        self._next = num_workers
        # (batches, bytes that the first worker still shares with others), in order.
        self._looks = []
        self._looking = None

    def count(self, batches, pids):
        if self._num_workers == 0 or batches < self._next or (self._looking and self._looking.is_alive()):
            return
        self._next = 2 * batches
        # The kernel walks through all pages of the worker, which is slow for many; the loop need not wait.
        self._looking = threading.Thread(target=self._look, args=(batches, pids[0]), daemon=True)
        self._looking.start()

    def over_epoch(self, batches, pids, epoch_batches, batch_samples):
        """Additional bytes that each worker will own; None if unknown. After a whole epoch's batches by itself:
        persistent workers of shuffled epochs see all samples in the end.
        """
        if self._looking is not None:
            self._looking.join()
        if self._num_workers == 0 or not pids or epoch_batches is None:
            return None
        if len(self._looks) > 1 and 2 * (batches - self._looks[-1][0]) < self._looks[-1][0] - self._looks[-2][0]:
            del self._looks[-1]  # the span from there to the end is too short
        self._look(batches, pids[0])
        if len(self._looks) < _LOOKS or None in [common for _, common in self._looks[-_LOOKS:]]:
            return None
        looks = self._looks[-_LOOKS:]
        # Memory touched once (loading libraries, a garbage collection) falls into only one of the two spans.
        slopes = [(one[1] - two[1]) / max(1, two[0] - one[0]) for one, two in zip(looks, looks[1:])]
        by_batch = min(slopes) * self._num_workers
        if by_batch < _LEAST_BYTES_PER_SAMPLE * (batch_samples or 1):
            return 0
        return round(min(by_batch * epoch_batches, looks[-1][1]))

    def _look(self, batches, pid):
        self._looks.append((batches, _common_bytes(pid)))


def _common_bytes(pid):
    """Bytes that a process shares with its parent and would copy by writing."""
    try:
        with open("/proc/%d/smaps" % pid, "rb") as file:
            text = file.read()
    except OSError:
        return None
    common, is_private = 0, False
    for field in _FIELD.finditer(text):
        if field["kind"] is not None:
            is_private = field["kind"].endswith(b"p")
        elif is_private:
            common += int(field["kilobytes"])
    return common * 1024
