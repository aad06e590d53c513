"""Whether `.to(device, non_blocking=True)` returns at once, and whether the copy overlaps with a computation."""

import time

import torch

from .timing import in_turns, time_ns

_ORDER = 2048
_MOST_PRODUCTS = 500


def run(device, options):
    """`options`: `bytes` of a batch and `rounds`. Times of the whole, and of the calls until they return."""
    size, rounds = options["bytes"], options["rounds"]
    pageable = torch.ones(size, dtype=torch.uint8)
    pinned = pageable.pin_memory()
    own_stream = torch.cuda.Stream(device)
    matrix = torch.zeros(_ORDER, _ORDER, device=device)
    product = torch.empty_like(matrix)

    def copy(here):
        return here.to(device, non_blocking=True)

    returned = {"pinnedCall": [], "pageableCall": []}

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

    def compute(products):
        for _ in range(products):
            torch.mm(matrix, matrix, out=product)

    # As long as the slower copy, which is then hidden whole if it overlaps.
    for action in (lambda: copy(pageable), lambda: compute(1)):
        time_ns(action)
    copy_ns = min(time_ns(lambda: copy(pageable)) for _ in range(3))
    product_ns = min(time_ns(lambda: compute(8)) for _ in range(3)) / 8
    products = max(1, min(_MOST_PRODUCTS, round(copy_ns / product_ns)))

    def beside(copying, here):
        def action():
            compute(products)
            copying(here)

        return action

    whole = in_turns(
        {
            "compute": lambda: compute(products),
            "pinnedCopy": timed_copy(pinned, "pinnedCall"),
            "pageableCopy": timed_copy(pageable, "pageableCall"),
            "pinnedOneStream": beside(copy, pinned),
            "pageableOneStream": beside(copy, pageable),
            "pinnedOwnStream": beside(copy_in_own_stream, pinned),
            "pageableOwnStream": beside(copy_in_own_stream, pageable),
        },
        rounds,
    )
    # The first of each is a warm-up.
    return {"bytes": size, **whole, **{name: times[1:] for name, times in returned.items()}}
