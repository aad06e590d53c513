"""Whether a pinned tensor inside an object stays pinned when it is sent to another process."""

from concurrent.futures import ProcessPoolExecutor

import torch
import torch.multiprocessing
from pinbench_tune import guard

from . import in_turns

NEEDS_GPU = True
# Both tensors fit into a container's default /dev/shm of 64 MiB.
_BYTES = 16 << 20
# Many rounds: single pageable copies in another process vary by half.
_ROUNDS = 61


class Batch:
    """An object that contains a tensor, like a script's own batch class."""

    def __init__(self, data):
        self.data = data


def run(device):
    pageable = Batch(torch.ones(_BYTES, dtype=torch.uint8))
    pinned = Batch(torch.ones(_BYTES, dtype=torch.uint8).pin_memory())
    there = torch.empty(_BYTES, dtype=torch.uint8, device=device)
    times = in_turns(
        {
            "senderPinned": lambda: there.copy_(pinned.data, non_blocking=True),
            "senderPageable": lambda: there.copy_(pageable.data, non_blocking=True),
        },
        _ROUNDS,
    )
    # Spawned, because a forked process cannot use CUDA if its parent does.
    context = torch.multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=guard.begin_child) as receiver:
        received, facts = receiver.submit(measure_received, pinned, pageable, device).result()
    return {**times, **received}, facts


def measure_received(pinned, pageable, device):
    """Runs in the receiving process."""
    torch.cuda.set_device(device)
    there = torch.empty(_BYTES, dtype=torch.uint8, device=device)
    tensor = pinned.data
    facts = {"isPinned": tensor.is_pinned()}
    actions = {
        "receiverPinned": lambda: there.copy_(tensor, non_blocking=True),
        "receiverPageable": lambda: there.copy_(pageable.data, non_blocking=True),
    }
    times = in_turns(actions, _ROUNDS)
    cudart = torch.cuda.cudart()
    facts["registerRefused"] = int(cudart.cudaHostRegister(tensor.data_ptr(), _BYTES, 0))
    if facts["registerRefused"] == 0:
        times.update(in_turns({"registered": actions["receiverPinned"]}, _ROUNDS))
        torch.cuda.synchronize()
        cudart.cudaHostUnregister(tensor.data_ptr())
    return times, facts
