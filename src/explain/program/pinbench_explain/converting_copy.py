"""Copies pinned float64 data and converts it to float32, in one step and in two."""

import torch

from . import in_turns

NEEDS_GPU = True
_COUNT = 8 << 20
_ROUNDS = 15


def run(device):
    pinned = torch.ones(_COUNT, dtype=torch.float64).pin_memory()
    actions = {
        "plain": lambda: pinned.to(device),
        "converting": lambda: pinned.to(device, torch.float32),
        "nonBlocking": lambda: pinned.to(device, torch.float32, non_blocking=True),
        "after": lambda: pinned.to(device).to(torch.float32),
    }
    return in_turns(actions, _ROUNDS), {}
