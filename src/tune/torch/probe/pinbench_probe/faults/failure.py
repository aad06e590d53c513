"""The report of a failed trial, and failures caused by the machine's limits."""

import errno
import re

SHARED_HINT = (
    "Give /dev/shm more room (docker run --shm-size=8g), or use fewer workers, a lower prefetch or smaller batches."
)
MEMORY_HINT = "Use fewer workers, a lower prefetch or smaller batches."
_FILES_HINT = (
    "Raise the limit (ulimit -n), or share batches by name: "
    "torch.multiprocessing.set_sharing_strategy('file_system')."
)
_DEVICE_HINT = (
    "Have the Dataset return CPU tensors and copy them in the training loop, or stay with num_workers=0."
)


def failure(fault, message, hint, traceback=None, everywhere=False, broken=False):
    """A TrialFailure of src/results/tuning.ts, and `broken` if this process can run no further trial."""
    return {
        "fault": fault,
        "message": message,
        "hint": hint,
        "traceback": traceback,
        "everywhere": everywhere,
        "broken": broken,
    }


def of_system(text, number):
    """The failure that matches the message of the kernel, CUDA or torch, or the errno; None for an error of the data
    set.
    """
    if re.search(r"Cannot re-initialize CUDA in forked|cannot pin '.*' only dense CPU", text):
        return failure("device-tensors", "The data set uses the GPU, which a forked worker cannot.", _DEVICE_HINT)
    if number == errno.EMFILE or re.search(r"Too many open files|received 0 items of ancdata", text):
        return failure("too-many-files", "The batches under way need more open files than are allowed.", _FILES_HINT)
    if re.search(r"</torch_|shared memory\(shm\)|shared memory object", text):
        return failure("shared-memory-full", "There is no room for the batches in /dev/shm.", SHARED_HINT)
    if re.search(r"CUDA out of memory|CUDA error: out of memory", text):
        return failure("out-of-memory", "The GPU's memory, or memory to pin, ran out.", MEMORY_HINT)
    if re.search(r"CUDA error|CUDA driver error|cudaError|CUBLAS_STATUS", text):
        return failure("device-error", "The GPU reported an error: %s." % text.rstrip("."), None, broken=True)
    if number == errno.ENOMEM or re.search(r"^MemoryError|can't allocate memory|Cannot allocate memory", text):
        return failure("out-of-memory", "Memory ran out: %s." % text.rstrip("."), MEMORY_HINT)
    return None
