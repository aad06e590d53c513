"""Workers of a setting that is only tried may die, for want of memory say, while the script is at something else."""

import os
import signal
import threading
import weakref

# What is being tried, in this process.
_tried = weakref.WeakSet()
_is_waiting = False
_is_ending = False


class WorkerDied(RuntimeError):
    pass


def watch(inner):
    """torch raises an error about a dead worker out of whatever the main thread does then. For those of `inner` that is put
    off until a batch is waited for.
    """
    _tried.add(inner)
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGCHLD)
    if not callable(before) or getattr(before, "is_put_off", False):
        return

    def handle(number, frame):
        if not _is_ending and (_is_waiting or not any(map(_has_died, _tried))):
            before(number, frame)

    handle.is_put_off = True
    signal.signal(signal.SIGCHLD, handle)


def end(inner):
    """Ends it in peace, also where some of its workers have died already."""
    global _is_ending
    _is_ending = True
    try:
        inner.end()
    finally:
        _is_ending = False
        _tried.discard(inner)


def next_of(inner):
    """The next batch of an inner loader; raises WorkerDied, or torch's own error, for one that has lost a worker."""
    global _is_waiting
    if inner.change == 0:
        return next(inner.iterator)
    if _has_died(inner):
        raise WorkerDied("a worker exited unexpectedly")
    _is_waiting = True
    try:
        return next(inner.iterator)
    finally:
        _is_waiting = False


def exit_code(inner):
    """That of a worker which has died, below 0 for a signal; None where none has, or that is not known any more."""
    return next((code for code in map(_exit_code, inner.worker_pids()) if code), None)


def _has_died(inner):
    return exit_code(inner) is not None


def _exit_code(pid):
    try:
        # Left for multiprocessing to collect.
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
