"""A trial's resource use: shared and pinned memory, the workers' own memory, bytes from storage."""

import os
import re

import torch

_SHARED = "/dev/shm"
# Number of recent samples of a worker's memory that are compared.
_LOOKS = 3
# Slower growth is normal for Python and ends soon: a page in eight samples.
_LEAST_BYTES_PER_SAMPLE = 512


class Usage:
    """Created when the trial begins."""

    def __init__(self):
        self._shared_before = self._shared_peak = _shared_bytes()
        self._read_before = _read_bytes("self")
        self._pinned_before = _pinned_bytes("current")
        # Batch number of the next sample, and samples so far: (batches, own bytes of the first worker).
        self._next = 2
        self._looks = []

    def sample(self, batches, pids):
        if self._shared_before is not None:
            self._shared_peak = max(self._shared_peak, _shared_bytes() or 0)
        if pids and batches >= self._next:
            self._next = 2 * batches
            self._looks.append((batches, _private_bytes(pids[0])))

    def summary(self, batches, pids, epoch_batches, batch_samples):
        """Must be called while the workers still exist."""
        # Few batches would show no growth: the last sample replaces one taken just before it.
        if len(self._looks) >= _LOOKS and 2 * batches < 3 * self._looks[-1][0]:
            self._looks.pop()
        self._next = batches
        self.sample(batches, pids)
        # Growth of /dev/shm on the whole machine: the kernel does not count a process' share.
        shared = None if self._shared_before is None else self._shared_peak - self._shared_before
        pinned, before = _pinned_bytes("peak"), self._pinned_before
        now, read_before = _read_bytes("self"), self._read_before
        private = _sum(_private_bytes(pid) for pid in pids)
        growth = self._growth(epoch_batches, batch_samples)
        return {
            "sharedMemoryBytes": shared if pids else 0,
            "pinnedBytes": None if pinned is None or before is None else max(0, pinned - before),
            "workerPrivateBytes": private,
            "storageReadBytes": _sum([_sum([now, read_before and -read_before]), *map(_read_bytes, pids)]),
            **({"workerEpochBytes": None if None in (private, growth) else private + growth * len(pids)} if pids else {}),
        }

    def _growth(self, epoch_batches, batch_samples):
        """Growth in bytes of each worker over a whole epoch; None if unknown. Persistent workers with shuffled data
        see all samples in the end. A forked worker shares the training process' memory until it writes to a page.
        Reading a Python object also writes, because it counts a reference.
        """
        looks = self._looks[-_LOOKS:]
        if epoch_batches is None or len(looks) < _LOOKS or None in [own for _, own in looks]:
            return None
        # The minimum ignores memory touched once (a loaded library, a garbage collection), which affects one span only.
        by_batch = min((two[1] - one[1]) / max(1, two[0] - one[0]) for one, two in zip(looks, looks[1:]))
        return round(by_batch * epoch_batches) if by_batch >= _LEAST_BYTES_PER_SAMPLE * (batch_samples or 1) else 0


def _sum(values):
    known = list(values)
    return None if None in known else sum(known)


def _shared_bytes():
    try:
        stat = os.statvfs(_SHARED)
    except OSError:
        return None
    return (stat.f_blocks - stat.f_bfree) * stat.f_frsize


def _read(pid, file):
    try:
        with open("/proc/%s/%s" % (pid, file)) as opened:
            return opened.read()
    except OSError:
        return ""


def _read_bytes(pid):
    """Bytes that a process read from storage; None if the kernel does not count them or the process has ended."""
    found = re.search(r"^read_bytes: (\d+)", _read(pid, "io"), re.M)
    return int(found[1]) if found else None


def _private_bytes(pid):
    kilobytes = dict(re.findall(r"^(\w+):\s+(\d+) kB", _read(pid, "smaps_rollup"), re.M))
    if "Private_Dirty" not in kilobytes:
        return None
    # A batch in flight is mapped by one process and counts as private there, but it is counted as shared memory.
    return max(0, int(kilobytes["Private_Dirty"]) - int(kilobytes.get("Pss_Shmem", 0))) * 1024


def _pinned_bytes(which):
    """Pinned memory in use by torch; None before torch 2.8. "peak": since the last call with "current"."""
    stats = getattr(torch.cuda, "host_memory_stats", None)
    if stats is None or not torch.cuda.is_available():
        return None
    if which == "current":
        torch.cuda.reset_peak_host_memory_stats()
    return stats().get("active_bytes.%s" % which)
