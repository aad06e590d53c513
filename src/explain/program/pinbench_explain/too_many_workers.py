"""Time per batch of a DataLoader by number of workers, with samples that keep a CPU busy."""

import os
import time
import zlib

import torch
from pinbench_tune.faults import Refusal
from torch.utils.data import DataLoader, Dataset

from . import in_turns

NEEDS_GPU = False
# Unpacking this takes about as long as decoding a small picture.
_PACKED_BYTES = 512 << 10
_SAMPLE_BYTES = 1 << 10
_BATCH = 8
_BATCHES_OF_WORKER = 8
_ROUNDS = 6
# Starting two workers per CPU takes too long on larger machines.
_MOST_CPUS = 64


class Samples(Dataset):
    def __init__(self, count):
        noise = torch.randint(0, 16, (_PACKED_BYTES,), dtype=torch.uint8)
        self._packed = zlib.compress(bytes(noise.tolist()), 1)
        self._count = count

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        return torch.frombuffer(bytearray(zlib.decompress(self._packed)), dtype=torch.uint8)[:_SAMPLE_BYTES]


def run(_device):
    cpus = len(os.sched_getaffinity(0))
    if cpus > _MOST_CPUS:
        raise Refusal("unavailable", "Two workers for each of %d CPUs take too long to start." % cpus)
    torch.set_num_threads(1)
    counts = {"none": 0, "half": cpus // 2, "each": cpus, "twice": 2 * cpus}
    loaders = {
        name: DataLoader(
            Samples(_BATCH * _BATCHES_OF_WORKER * max(1, min(count, cpus))),
            batch_size=_BATCH,
            num_workers=count,
            # Persistent, so that epochs do not include their start.
            persistent_workers=count > 0,
        )
        for name, count in counts.items()
    }

    def batch_ns(loader):
        start = time.perf_counter_ns()
        for _ in loader:
            pass
        return (time.perf_counter_ns() - start) / len(loader)

    return in_turns(loaders, _ROUNDS, timed=batch_ns), {"cpus": cpus}
