"""A loop that copies a batch pinned each time, through a reused pinned buffer, or unpinned."""

import torch

from . import in_turns

NEEDS_GPU = True
_BYTES = 64 << 20
_ROUNDS = 15


def run(device):
    batch = torch.ones(_BYTES, dtype=torch.uint8)
    pinned = batch.pin_memory()
    actions = {
        "pageable": lambda: batch.to(device),
        "eachTime": lambda: batch.pin_memory().to(device, non_blocking=True),
        "kept": lambda: pinned.copy_(batch).to(device, non_blocking=True),
        "before": lambda: pinned.to(device, non_blocking=True),
    }
    return in_turns(actions, _ROUNDS), {}
