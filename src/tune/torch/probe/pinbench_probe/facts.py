"""Facts on the data, from one batch."""

import os
import platform
import resource

import torch
import torch.multiprocessing

from .batch import Contents
from .faults.refusal import Refusal
from .faults.tracebacks import refuse_for
from .place import place
from .timed import usage


def first_batch(source):
    """(a batch made in this process, its Contents): a failure here happens with every setting."""
    try:
        for batch in source.loader(0):
            return batch, Contents(batch)
    except (Exception, SystemExit) as error:
        hint = "It fails without workers as well; check that a plain loop over the DataLoader runs."
        raise refuse_for(error, "The data set cannot make a batch", hint=hint) from None
    raise Refusal("measurement", "The data set gives no batch.", "Its first epoch is empty.")


def collect(source, contents, device, link, step_ns):
    """ProbeFacts of src/tune/loader-probe.ts, without the kind and source that pinbench itself knows."""
    workers_off = _workers_off(contents)
    return {
        "device": device.name,
        "runtime": "torch %s, Python %s" % (torch.__version__, platform.python_version()),
        "batch": {
            "samples": source.batch_size or contents.first_length(),
            "bytes": contents.bytes,
            "description": contents.description(),
        },
        "epochBatches": source.epoch_batches(),
        "startingPoint": source.starting_point(),
        "pinningOff": _pinning_off(contents, device),
        "workersOff": workers_off,
        "link": link,
        "stepNs": step_ns,
        "filesPerBatch": _files_per_batch(contents),
        "fileLimit": _file_limit(),
        "filesInUse": _files_in_use(),
        "processBytes": usage.anonymous_bytes("self"),
        "place": place(device.is_cuda),
        "notes": source.notes() + _notes(contents, workers_off) + list(device.notes),
    }


def _workers_off(contents):
    elsewhere = [device for device in contents.devices if device != "cpu"]
    return "the batches are %s tensors" % " and ".join(elsewhere) if elsewhere else None


def _pinning_off(contents, device):
    if not device.is_cuda:
        return "torch sees no GPU"
    off = _workers_off(contents)
    if off is not None:
        return off
    if not contents.tensors:
        return "the batches hold no tensors"
    if not contents.can_pin:
        return "the batches are of the type %s, which has no pin_memory()" % contents.unpinnable[0]
    return None


def _notes(contents, workers_off):
    notes = []
    if workers_off is not None:
        where = " and ".join(device for device in contents.devices if device != "cpu")
        notes.append("The batches are on %s already: only num_workers=0 and pin_memory=False are possible." % where)
    for name in contents.unpinnable:
        said = "Batches hold a %s, which has no pin_memory(): torch silently does not pin it."
        notes.append(said % name)
    for name in contents.uncopyable:
        notes.append("Batches hold a %s, which has no to(): nothing of it is copied." % name)
    if not contents.tensors:
        notes.append("The batches hold no visible tensors: there is nothing to copy.")
    return notes


def _files_per_batch(contents):
    """A received tensor keeps the descriptor of its shared memory open while it lives."""
    if torch.multiprocessing.get_sharing_strategy() != "file_descriptor":
        return 0
    return len(contents.tensors)


def _file_limit():
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def _files_in_use():
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return None
