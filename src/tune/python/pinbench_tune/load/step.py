"""The training step: the user's own, one of fixed duration, or a simulated one."""

import statistics
import time

import torch

from ..batch import copy
from ..faults import Refusal, refuse_for
from . import target

# ResNet-50, forward and backward: 12.3 GFLOP for an image of 602 112 bytes.
FLOPS_PER_BYTE = 20_000
# Sides of the matrices. Only large ones fill a GPU; 512 fill a CPU, where the largest would take seconds.
_LEAST_SIDE, _GPU_SIDE, _CPU_SIDE = 128, 4096, 512


def make(wanted, batch_bytes, device, alive):
    """Returns (function that starts the step on a batch, its duration alone in ns), or (None, None). Calls `alive`
    before each run of the step.
    """
    if wanted is None:
        return None, None
    if wanted == "auto":
        return _stand_in(batch_bytes, device, alive)
    if not device.is_cuda:
        return (lambda _batch: time.sleep(wanted / 1e9)), wanted
    return _sleep_on_device(wanted, device, alive)


def of_user(name, batch, device, alive):
    """Like make(), for the user's function `FILE:FUNCTION`, timed alone on one batch on the device. Raises a Refusal if
    it is missing or fails. Ignores the first runs, which allocate memory and choose kernels.
    """
    function = target.load(name)
    if not callable(function):
        raise Refusal("usage", "%s is not a function." % name, "Name a function of a batch, such as train.py:step.")
    there = copy(batch, device.torch_device, False) if device.is_cuda else batch
    try:
        for _ in range(2):
            alive()
            device.time_ns(lambda: function(there))
        return function, round(_median_ns(lambda: function(there), device, alive))
    except (Exception, SystemExit) as error:
        hint = "It is called with one argument, a batch, on the device if there is one: step(batch)."
        raise refuse_for(error, "The step %s fails on a batch" % name, hint=hint) from None


def _sleep_on_device(duration, device, alive):
    # _sleep counts cycles of the GPU's clock; the first runs bring the clock to full speed.
    cycles = 20_000_000
    took = [device.time_ns(lambda: torch.cuda._sleep(cycles)) for _ in range(6)]
    cycles_per_ns = cycles / statistics.median(took[3:])
    wanted = max(1, round(duration * cycles_per_ns))

    def step(_batch=None):
        torch.cuda._sleep(wanted)

    return step, round(_median_ns(step, device, alive))


def _stand_in(batch_bytes, device, alive):
    flops = max(1, batch_bytes) * FLOPS_PER_BYTE
    # The largest matrices with which a step has at least four products.
    side = _GPU_SIDE if device.is_cuda else _CPU_SIDE
    while side > _LEAST_SIDE and flops < 4 * 2 * side**3:
        side //= 2
    count = max(1, round(flops / (2 * side**3)))
    dtype = torch.float16 if device.is_cuda else torch.float32
    left = torch.randn(side, side, device=device.torch_device).to(dtype)
    right = torch.randn(side, side, device=device.torch_device).to(dtype)
    out = torch.empty_like(left)

    def multiply(times):
        with torch.no_grad():
            for _ in range(times):
                torch.matmul(left, right, out=out)

    multiply(1)
    # On a CPU a whole step can take seconds, so only two products are timed.
    some = count if device.is_cuda else min(count, 2)
    alive()
    device.time_ns(lambda: multiply(some))
    took = _median_ns(lambda: multiply(some), device, alive)
    return (lambda _batch: multiply(count)), round(took * count / some)


def _median_ns(step, device, alive):
    took = []
    for _ in range(3):
        alive()
        took.append(device.time_ns(step))
    return statistics.median(took)
