"""A trial's use of the machine: shared and pinned memory, the workers' own memory, bytes from storage."""

import os
import re
import time

import torch

_SHARED = "/dev/shm"
_SAMPLE_NS = 10_000_000


class Usage:
    """Created when the trial begins; its batches have `tensors` tensors each. `sample` is cheap enough for every batch.
    """

    def __init__(self, tensors):
        self._tensors = tensors
        self._shared_before = self._shared_peak = _shared_bytes()
        self._sampled_ns = 0
        self._read_before = _read_bytes("self")
        self._oom_kills_before = _oom_kills()
        _reset_pinned_peak()
        self._pinned_before = _pinned_counts()

    def sample(self):
        now = time.perf_counter_ns()
        if self._shared_before is not None and now - self._sampled_ns >= _SAMPLE_NS:
            self._sampled_ns = now
            self._shared_peak = max(self._shared_peak, _shared_bytes() or 0)

    def oom_killed(self):
        """Whether the kernel has killed a process for memory in this control group since; None if unknown."""
        now = _oom_kills()
        return None if now is None or self._oom_kills_before is None else now > self._oom_kills_before

    def summary(self, pids, num_workers):
        """Called while the workers still exist; `pids` are those of all started ones."""
        self._sampled_ns = 0
        self.sample()
        # Growth of the whole machine's use of /dev/shm, which has no batches of this process alone.
        shared = None if self._shared_before is None else self._shared_peak - self._shared_before
        if num_workers == 0:
            shared = 0
        return {
            "sharedMemoryBytes": shared,
            "pinnedBytes": _pinned_peak(self._pinned_before, self._tensors),
            "workerPrivateBytes": _sum(_private_bytes(pid) for pid in pids),
            "storageReadBytes": _sum(self._storage_reads(pids)),
        }

    def _storage_reads(self, pids):
        now = _read_bytes("self")
        yield None if now is None or self._read_before is None else now - self._read_before
        for pid in pids:
            yield _read_bytes(pid)


def _sum(values):
    known = list(values)
    return None if None in known else sum(known)


def _shared_bytes():
    try:
        stat = os.statvfs(_SHARED)
    except OSError:
        return None
    return (stat.f_blocks - stat.f_bfree) * stat.f_frsize


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _read_bytes(pid):
    """Bytes that a process read from storage; 0 for an ended one, None if the kernel does not count."""
    found = re.search(r"^read_bytes: (\d+)", _read("/proc/%s/io" % pid), re.M)
    if found:
        return int(found[1])
    return 0 if pid != "self" and not os.path.exists("/proc/%s" % pid) else None


def _private_bytes(pid):
    text = _read("/proc/%s/smaps_rollup" % pid)
    kilobytes = dict(re.findall(r"^(\w+):\s+(\d+) kB", text, re.M))
    if "Private_Dirty" not in kilobytes:
        return 0 if not os.path.exists("/proc/%s" % pid) else None
    # A batch in flight is mapped by one process alone and counts as private there; it is in shared memory's sum.
    return max(0, int(kilobytes["Private_Dirty"]) - int(kilobytes.get("Pss_Shmem", 0))) * 1024


def anonymous_bytes(pid):
    """Memory of a process that comes from no file, shared with its children or not; None if unknown."""
    found = re.search(r"^Anonymous:\s+(\d+) kB", _read("/proc/%s/smaps_rollup" % pid), re.M)
    return int(found[1]) * 1024 if found else None


def _reset_pinned_peak():
    reset = getattr(torch.cuda, "reset_peak_host_memory_stats", None)
    if reset is not None and torch.cuda.is_available():
        reset()


def _pinned_counts():
    """Of torch's own pinned memory: requests, their bytes, requests in use now and at most; None before torch 2.8."""
    stats = getattr(torch.cuda, "host_memory_stats", None)
    if stats is None or not torch.cuda.is_available():
        return None
    known = stats()
    keys = ["active_%s" % key for key in ("requests.allocated", "bytes.allocated", "requests.current", "requests.peak")]
    return tuple(int(known[key]) for key in keys) if all(key in known for key in keys) else None


def _pinned_peak(before, tensors):
    """Most pinned memory in use since: the mean request times the largest number at once, beyond those before. In whole
    batches, because earlier ones may have been freed meanwhile. Not torch's own "active_bytes.peak": torch 2.11
    subtracts one byte when it frees a block. It also keeps counting requests that no copy has used, of a loader that
    ends with batches in its queue.
    """
    now = _pinned_counts()
    if now is None or before is None:
        return None
    requests = now[0] - before[0]
    batches = -(-max(0, now[3] - before[2]) // tensors)
    return 0 if requests == 0 else batches * tensors * (now[1] - before[1]) // requests


def _oom_kills():
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            files = ("/sys/fs/cgroup%s/memory.events" % path, "/sys/fs/cgroup/memory.events")
        elif "memory" in controllers.split(","):
            files = ("/sys/fs/cgroup/memory%s/memory.oom_control" % path, "/sys/fs/cgroup/memory/memory.oom_control")
        else:
            continue
        for file in files:
            found = re.search(r"^oom_kill (\d+)", _read(file), re.M)
            if found:
                return int(found[1])
    return None
