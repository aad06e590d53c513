"""What the tests of the Python modules share: where the modules lie, and a small data set."""

import os
import sys

import torch
from torch.utils.data import Dataset

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
_TUNE = os.path.join(_ROOT, "src", "tune")
EMULATED_DRIVER = os.path.join(_ROOT, "build", "Release", "libpinbench_emulated.so")
# Behind the rest: this folder has a sitecustomize.
sys.path.append(os.path.join(_TUNE, "python"))


class Numbers(Dataset):
    """Sample n is the number n."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return torch.tensor([index])


def numbers_of(batches):
    return [batch.flatten().tolist() for batch in batches]


def setting(workers, prefetch=2, persistent=False):
    return {
        "numWorkers": workers,
        "pinMemory": False,
        "prefetchFactor": prefetch if workers > 0 else None,
        "persistentWorkers": persistent,
    }
