"""Facts on a batch and on this process, for pinbench."""

import ctypes
import os
import platform
import resource

import torch
import torch.multiprocessing

from .go import size_of


def of_batch(contents, samples, device, no_device):
    """The fields of batchFactsSchema in src/tune/loader-probe.ts. `samples`: None if the loader does not report it.
    `device`: name of the GPU that batches go to; if None, `no_device` has the reason.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    elsewhere = " and ".join(each for each in contents.devices if each != "cpu")
    workers_off = "the batches are %s tensors" % elsewhere if elsewhere else None
    return {
        "device": device,
        "runtime": "torch %s, Python %s" % (torch.__version__, platform.python_version()),
        "batch": {
            "samples": samples or contents.first_length(),
            "bytes": contents.bytes,
            "description": contents.description(),
        },
        "pinningOff": no_device if device is None else workers_off or _pinning_off(contents),
        "workersOff": workers_off,
        "fileLimit": None if soft == resource.RLIM_INFINITY else soft,
        "filesInUse": open_files(),
        # A received tensor keeps the descriptor of its shared memory open while it lives.
        "filesPerBatch": len(contents.tensors) if torch.multiprocessing.get_sharing_strategy() == "file_descriptor" else 0,
        "place": _place(device is not None),
    }


def setting_of(loader):
    """The loader's setting in plain numbers for JSON: a script may use NumPy's."""
    workers = int(loader.num_workers)
    return {
        "numWorkers": workers,
        "pinMemory": bool(loader.pin_memory),
        "prefetchFactor": int(loader.prefetch_factor) if workers > 0 else None,
        "persistentWorkers": bool(loader.persistent_workers),
        # The loader does not know how its batches are copied.
        "nonBlocking": False,
    }


def _pinning_off(contents):
    if not contents.tensors:
        return "the batches hold no tensors"
    if not contents.can_pin:
        return "the batches are of the type %s, which has no pin_memory()" % contents.unpinnable[0]
    return None


def length(sized):
    try:
        return len(sized)
    except Exception:  # no __len__, or the user's own fails
        return None


def batch_size(loader):
    """Samples per batch; None without a fixed size, for which some samplers report -1."""
    size = loader.batch_size
    if size is None:
        size = size_of(loader.batch_sampler)
    return int(size) if isinstance(size, int) and size > 0 else None


def open_files():
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return None


def _place(has_device):
    """This process' CPUs, memory policy and GPU; pinbench compares them with the NUMA nodes."""
    return {
        # The CPUs of this thread, which its workers inherit with the policy.
        "cpus": sorted(os.sched_getaffinity(0)),
        "memoryPolicy": _memory_policy(),
        "pciBusId": _bus_id() if has_device else None,
    }


def _memory_policy():
    """"bind:0" or "default": the policy of the first mapping is that of the process. None if the system hides it."""
    try:
        with open("/proc/self/numa_maps") as maps:
            return maps.readline().split()[1]
    except (OSError, IndexError):
        return None


def _bus_id():
    """PCI address of the current device. Asks the driver, because older versions of torch do not know it."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        device, name = ctypes.c_int(), ctypes.create_string_buffer(32)
        if cuda.cuDeviceGet(ctypes.byref(device), torch.cuda.current_device()) != 0:
            return None
        return name.value.decode() if cuda.cuDeviceGetPCIBusId(name, len(name), device) == 0 else None
    except (OSError, AttributeError):
        return None
