"""A TrialFailure, as probe.ts has it."""

SHARED_HINT = (
    "Give /dev/shm more room (docker run --shm-size=8g), or use fewer workers, a lower prefetch or smaller batches."
)
MEMORY_HINT = "Use fewer workers, a lower prefetch or smaller batches."


def failure(fault, message, hint, traceback=None, everywhere=False, broken=False):
    """`broken`: this process can run no further trial."""
    return {
        "fault": fault,
        "message": message,
        "hint": hint,
        "traceback": traceback,
        "everywhere": everywhere,
        "broken": broken,
    }
