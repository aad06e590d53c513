"""Whether pinned tensors stay pinned when sent to another process, by themselves and inside an object."""

import os

import torch
import torch.multiprocessing
from pinbench_probe import guard
from pinbench_probe.faults.refusal import Refusal

from .timing import in_turns

_SHARED_MEMORY = "/dev/shm"
# Three tensors are sent, and others use shared memory too.
_SHARE_OF_FREE = 5
_MEBI = 1 << 20


class Batch:
    """An object with a tensor in it, as a script's own batch is."""

    def __init__(self, data):
        self.data = data


def run(device, options):
    """`options`: `bytes` of a tensor and `rounds`. Without a GPU there is nothing to pin."""
    size, rounds = _that_fits(options["bytes"]), options["rounds"]
    pageable = torch.ones(size, dtype=torch.uint8)
    in_object = Batch(torch.ones(size, dtype=torch.uint8).pin_memory())
    pinned = torch.ones(size, dtype=torch.uint8).pin_memory()
    figures = {"bytes": size, "isPinnedBefore": pinned.is_pinned() and in_object.data.is_pinned()}
    there = torch.empty(size, dtype=torch.uint8, device=device)
    taken = in_turns(
        {
            "parentPinned": lambda: there.copy_(pinned, non_blocking=True),
            "parentPageable": lambda: there.copy_(pageable, non_blocking=True),
        },
        rounds,
    )
    del there
    figures.update(taken)
    figures.update(_measure_in_child((pinned, in_object, Batch(pageable)), device, rounds))
    # torch has moved what it sent into shared memory, for this process as well.
    figures["isPinnedAfter"] = pinned.is_pinned()
    return figures


def _that_fits(size):
    """`size`, or less where /dev/shm has no room for the tensors: a write beyond it would kill a process."""
    stat = os.statvfs(_SHARED_MEMORY)
    free = stat.f_bavail * stat.f_frsize
    fitting = min(size, free // _SHARE_OF_FREE // _MEBI * _MEBI)
    if fitting < _MEBI:
        said = "Torch sends tensors through %s, which has only %d KiB free" % (_SHARED_MEMORY, free >> 10)
        raise Refusal("unavailable", said, "A container gets more with --shm-size.")
    return fitting


def _measure_in_child(sent, device, rounds):
    # Spawned: a forked process cannot use CUDA where its parent does.
    context = torch.multiprocessing.get_context("spawn")
    own, childs = context.Pipe()
    child = context.Process(target=measure_what_comes, args=(childs, device, rounds), daemon=True)
    child.start()
    childs.close()
    try:
        own.send(sent)
        answer = own.recv()
    except (EOFError, OSError):
        child.join()
        said = "the process that the tensors were sent to ended (exit code %s)" % child.exitcode
        raise Refusal("measurement", said) from None
    finally:
        own.close()
    child.join()
    if "failed" in answer:
        raise Refusal("measurement", "in the process that the tensors were sent to: %s" % answer["failed"])
    return answer


def measure_what_comes(connection, device, rounds):
    """In the child."""
    guard.begin_child()
    torch.cuda.set_device(device)
    pinned, in_object, pageable = connection.recv()
    try:
        answer = _measure_received(pinned, in_object.data, pageable.data, device, rounds)
    except Exception as error:
        answer = {"failed": "%s: %s" % (type(error).__name__, error)}
    connection.send(answer)
    connection.close()


def _measure_received(pinned, in_object, pageable, device, rounds):
    there = torch.empty(pinned.numel(), dtype=torch.uint8, device=device)
    answer = {"isPinnedInChild": pinned.is_pinned(), "isPinnedInObject": in_object.is_pinned()}
    answer.update(
        in_turns(
            {
                "childPinned": lambda: there.copy_(pinned, non_blocking=True),
                "childInObject": lambda: there.copy_(in_object, non_blocking=True),
                "childPageable": lambda: there.copy_(pageable, non_blocking=True),
            },
            rounds,
        )
    )
    cudart = torch.cuda.cudart()
    refused = int(cudart.cudaHostRegister(in_object.data_ptr(), in_object.numel(), 0))
    if refused != 0:
        answer.update(registerRefused=refused, isPinnedRegistered=False, childRegistered=[])
        return answer
    try:
        answer.update(registerRefused=None, isPinnedRegistered=in_object.is_pinned())
        answer.update(in_turns({"childRegistered": lambda: there.copy_(in_object, non_blocking=True)}, rounds))
    finally:
        torch.cuda.synchronize()
        cudart.cudaHostUnregister(in_object.data_ptr())
    return answer
