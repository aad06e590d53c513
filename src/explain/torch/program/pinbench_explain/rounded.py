"""How much memory torch pins for a tensor whose size is above a power of two."""

import os

import torch
from pinbench_probe.faults.refusal import Refusal

from .timing import time_ns

_HINT = "Memory that PYTORCH_ALLOC_CONF has torch pin in advance hides it."


def run(device, options):
    """`options`: `bytes` of a tensor, `evenBytes` (the power of two below it), and `rounds`.

    All tensors are kept to the end: torch would reuse the memory of a freed one.
    """
    size, even_size = options["bytes"], options["evenBytes"]
    has_statistics = hasattr(torch.cuda, "host_memory_stats")
    held_bytes = _bytes_in_statistics if has_statistics else _resident_bytes
    kept = []

    def pin(count):
        return time_ns(lambda: kept.append(torch.empty(count, dtype=torch.uint8, pin_memory=True)))

    # The first one also sets up the allocator.
    pin(1)
    figures = {"pinned": [], "uneven": [], "even": []}
    for _ in range(options["rounds"]):
        before = held_bytes()
        figures["uneven"].append(pin(size))
        figures["pinned"].append(held_bytes() - before)
        figures["even"].append(pin(even_size))
    # Resident memory also shrinks a little when Python frees some.
    if min(figures["pinned"]) < size * 0.9:
        source = "torch.cuda.host_memory_stats()" if has_statistics else "The process' resident memory"
        raise Refusal("unavailable", source + " does not show what torch pins for a tensor", _HINT)
    return {"bytes": size, "evenBytes": even_size, "hasStatistics": has_statistics, **figures}


def _bytes_in_statistics():
    # From torch 2.6 on.
    return torch.cuda.host_memory_stats()["allocated_bytes.current"]


def _resident_bytes():
    # CUDA makes all pages of pinned memory resident.
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
