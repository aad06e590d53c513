"""How long a copy's call takes while kernels are queued, from pinned and from pageable memory."""

import time

import torch

from . import Kernels, in_turns, time_ns

NEEDS_GPU = True
_BATCH_BYTES, _LABELS_BYTES = 4 << 20, 2 << 10
_QUEUED_NS = 20e6
_ROUNDS = 15


def run(device):
    batch = torch.ones(_BATCH_BYTES, dtype=torch.uint8)
    kernels = Kernels(device)
    kernels.last(_QUEUED_NS)
    sources = {
        "pinned": batch.pin_memory(),
        "pageable": batch,
        "labels": torch.ones(_LABELS_BYTES, dtype=torch.uint8),
    }

    def call_ns(source):
        torch.cuda.synchronize()
        kernels()
        start = time.perf_counter_ns()
        source.to(device, non_blocking=True)
        return time.perf_counter_ns() - start

    calls = in_turns(sources, _ROUNDS, timed=call_ns)
    return {"queue": [time_ns(kernels) for _ in range(_ROUNDS)], **calls}, {}
