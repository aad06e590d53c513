"""Where this process may run and takes memory from, and its GPU: pinbench knows the machine's NUMA nodes."""

import ctypes
import os


def place(uses_gpu):
    return {
        # Of this thread, which starts the workers: they inherit it, like the policy.
        "cpus": sorted(os.sched_getaffinity(0)),
        "memoryPolicy": _memory_policy(),
        "pciBusId": _bus_id() if uses_gpu else None,
    }


def _memory_policy():
    """ "bind:0", "default": that of the first mapping, which is the process' own. None if the system hides it."""
    try:
        with open("/proc/self/numa_maps") as maps:
            return maps.readline().split()[1]
    except (OSError, IndexError):
        return None


def _bus_id():
    """That of the current device, from the driver, which torch has loaded: older versions of torch do not know it."""
    import torch

    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        device, name = ctypes.c_int(), ctypes.create_string_buffer(32)
        if cuda.cuDeviceGet(ctypes.byref(device), torch.cuda.current_device()) != 0:
            return None
        return name.value.decode() if cuda.cuDeviceGetPCIBusId(name, len(name), device) == 0 else None
    except (OSError, AttributeError):
        return None
