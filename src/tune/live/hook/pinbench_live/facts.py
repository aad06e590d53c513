"""Facts on a loader and its batches, for pinbench."""

import os
import resource
import sys

import torch

from .probe import probe_module

# Found by the packages on the stack. Other frameworks leave DataLoader's arguments to the script.
_FRAMEWORKS = {"lightning": "lightning", "pytorch_lightning": "lightning", "transformers": "transformers", "timm": "timm"}
_MOST_FRAMES = 60


def source(loader):
    """ "ImageFolder, 10000 samples"."""
    name = type(loader.dataset).__name__
    try:
        return "%s, %d samples" % (name, len(loader.dataset))
    except Exception:  # the user's own __len__, or none
        return name


def framework():
    """The framework whose loop begins to iterate a loader; None for the script's own."""
    frame = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return None
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package in _FRAMEWORKS:
            return _FRAMEWORKS[package]
        frame = frame.f_back
    return None


def batch_size(loader):
    """None for batches without a fixed size, for which some samplers report -1."""
    size = loader.batch_size
    if size is None:
        size = getattr(loader.batch_sampler, "batch_size", None)
    return int(size) if isinstance(size, int) and size > 0 else None


def length(loader):
    """Batches of an epoch; None if unknown."""
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        return None
    try:
        return len(loader._index_sampler)
    except Exception:  # samplers need not know
        return None


def contents(batch):
    return probe_module("batch").Contents(batch)


def samples(drawn, contents):
    """Samples in a batch of these indices; for a stream, the length of its first tensor."""
    return len(drawn) if isinstance(drawn, (list, tuple)) else contents.first_length()


def batch(contents, drawn):
    """Facts on a batch and its device, requested late, when the script has chosen its device."""
    on_device = any(device != "cpu" for device in contents.devices)
    # Any further question would start CUDA in a process that may not want it.
    has_device = torch.cuda.is_available() and torch.cuda.is_initialized()
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return {
        "samples": samples(drawn, contents),
        "bytes": contents.bytes,
        "tensors": len(contents.tensors),
        "description": contents.description(),
        "onDevice": on_device,
        "device": torch.cuda.get_device_name() if has_device else None,
        "pinningOff": _pinning_off(contents, on_device, has_device),
        "fileLimit": None if soft == resource.RLIM_INFINITY else soft,
        "filesInUse": len(os.listdir("/proc/self/fd")),
        "place": probe_module("place").place(has_device),
    }


def _pinning_off(contents, on_device, has_device):
    if not has_device:
        return "the script has not used a GPU"
    if on_device:
        return "the batches are on the GPU already"
    if not contents.tensors:
        return "the batches hold no tensors"
    if not contents.can_pin:
        return "the batches are of the type %s, which has no pin_memory()" % contents.unpinnable[0]
    return None
