"""Whether `.to(device, non_blocking=True)` returns at once, and whether the copy overlaps with a computation."""

import time

import torch

from . import Kernels, in_turns, time_ns

NEEDS_GPU = True
_BYTES = 64 << 20
_ROUNDS = 15


def run(device):
    pageable = torch.ones(_BYTES, dtype=torch.uint8)
    pinned = pageable.pin_memory()
    own_stream = torch.cuda.Stream(device)
    compute = Kernels(device)
    returned = {"pinnedCall": [], "pageableCall": []}

    def copy(here):
        return here.to(device, non_blocking=True)

    def timed_copy(here, name):
        def action():
            start = time.perf_counter_ns()
            copied = copy(here)
            returned[name].append(time.perf_counter_ns() - start)
            return copied

        return action

    def copy_in_own_stream(here):
        with torch.cuda.stream(own_stream):
            return copy(here)

    def both(copying, here):
        def action():
            compute()
            copying(here)

        return action

    # As long as the slower copy, so that an overlapping copy is hidden completely.
    copy(pageable)
    compute.last(min(time_ns(lambda: copy(pageable)) for _ in range(3)))
    whole = in_turns(
        {
            "compute": compute,
            "pinnedCopy": timed_copy(pinned, "pinnedCall"),
            "pageableCopy": timed_copy(pageable, "pageableCall"),
            "pinnedOneStream": both(copy, pinned),
            "pageableOneStream": both(copy, pageable),
            "pinnedOwnStream": both(copy_in_own_stream, pinned),
            "pageableOwnStream": both(copy_in_own_stream, pageable),
        },
        _ROUNDS,
    )
    # The first time of each is a warm-up.
    return {**whole, **{name: times[1:] for name, times in returned.items()}}, {}
