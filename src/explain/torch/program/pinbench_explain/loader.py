"""An epoch of a DataLoader over small rows, with pinning and without."""

import torch
from torch.utils.data import DataLoader, TensorDataset

from .timing import in_turns


def run(device, options):
    """`options`: `rows` of `columns` floats, `batch` of them, and `rounds`: epochs of each kind."""
    rows = TensorDataset(torch.randn(options["rows"], options["columns"]))

    def epoch(pin_memory, copies):
        loader = DataLoader(rows, batch_size=options["batch"], pin_memory=pin_memory)

        def action():
            for (batch,) in loader:
                if copies:
                    batch.to(device, non_blocking=True)

        return action

    actions = {"uncopied": epoch(False, False)}
    if device is not None:
        actions.update(pinned=epoch(True, True), unpinned=epoch(False, True))
    batches = -(-options["rows"] // options["batch"])
    return {"batches": batches, "pinned": [], "unpinned": [], **in_turns(actions, options["rounds"])}
