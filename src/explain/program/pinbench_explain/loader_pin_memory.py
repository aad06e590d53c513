"""An epoch of a DataLoader over small rows, with pinning and without."""

import torch
from torch.utils.data import DataLoader, TensorDataset

from . import in_turns

NEEDS_GPU = True
_ROWS, _COLUMNS, _BATCH = 10_000, 256, 128
_ROUNDS = 25


def run(device):
    rows = TensorDataset(torch.randn(_ROWS, _COLUMNS))

    def epoch(pin_memory, copies=True):
        loader = DataLoader(rows, batch_size=_BATCH, pin_memory=pin_memory)

        def action():
            for (batch,) in loader:
                if copies:
                    batch.to(device, non_blocking=True)

        return action

    actions = {"pinned": epoch(True), "unpinned": epoch(False), "uncopied": epoch(False, copies=False)}
    return in_turns(actions, _ROUNDS), {}
