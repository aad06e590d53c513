"""How much memory workers come to own over an epoch.

A forked worker begins with the training process' memory, of which it gets copies of its own page by page as it writes
to it; of Python's objects it need only read one, as that counts a reference. A short trial sees only the beginning.
"""

import re
import threading

# Private mappings alone: what is shared by intent (batches on their way) is never copied.
_FIELD = re.compile(rb"^(?:[0-9a-f]+-[0-9a-f]+ ..(?P<kind>..) |Shared_Dirty: +(?P<kilobytes>\d+) kB)", re.M)
# Looks at a worker that are compared, the last ones.
_LOOKS = 3
# Less than this of a sample is what any Python comes to write to, and ends soon: a page in eight samples.
_LEAST_BYTES_PER_SAMPLE = 512


class OwnedMemory:
    """Of one trial. `count` is called with the batches that have come, `over_epoch` at the end, before workers go."""

    def __init__(self, num_workers):
        self._num_workers = num_workers
        # When each worker has made a batch, and again when there are twice as many.
        self._next = num_workers
        # (batches, bytes that the first worker still has in common with others), one after the other.
        self._looks = []
        self._looking = None

    def count(self, batches, pids):
        if self._num_workers == 0 or batches < self._next or (self._looking and self._looking.is_alive()):
            return
        self._next = 2 * batches
        # The kernel walks through all pages of the worker, which takes a while for many; the loop need not wait for it.
        self._looking = threading.Thread(target=self._look, args=(batches, pids[0]), daemon=True)
        self._looking.start()

    def over_epoch(self, batches, pids, epoch_batches, batch_samples):
        """Bytes that each worker will come to own beyond those of now; None if it cannot be told.

        After an epoch's batches, made by itself: persistent workers of shuffled epochs see all samples in the end.
        """
        if self._looking is not None:
            self._looking.join()
        if self._num_workers == 0 or not pids or epoch_batches is None:
            return None
        if len(self._looks) > 1 and 2 * (batches - self._looks[-1][0]) < self._looks[-1][0] - self._looks[-2][0]:
            del self._looks[-1]  # the span from there to the end is too short to tell anything
        self._look(batches, pids[0])
        if len(self._looks) < _LOOKS or None in [common for _, common in self._looks[-_LOOKS:]]:
            return None
        looks = self._looks[-_LOOKS:]
        # What is touched once (libraries that load, a garbage collection) falls into one of the two spans alone.
        slopes = [(one[1] - two[1]) / max(1, two[0] - one[0]) for one, two in zip(looks, looks[1:])]
        by_batch = min(slopes) * self._num_workers
        if by_batch < _LEAST_BYTES_PER_SAMPLE * (batch_samples or 1):
            return 0
        return round(min(by_batch * epoch_batches, looks[-1][1]))

    def _look(self, batches, pid):
        self._looks.append((batches, _common_bytes(pid)))


def _common_bytes(pid):
    """What a process has in common with the one that forked it, and would get a copy of by writing to it."""
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
