"""Nothing outlives pinbench, however it ends: not where it is killed, nor while native code here holds the GIL."""

import ctypes
import glob
import os
import shutil
import signal
import time

# Nothing is ever said over this descriptor: its end tells the guard that pinbench is gone.
LIFE_LINE = 4
_PR_SET_PDEATHSIG = 1
_TRACKER_SECONDS = 0.3


def die_with_parent():
    """Has the kernel kill this process when the thread that started it ends."""
    parent = os.getppid()
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return  # a C library without it: the process group's end and torch's own watchdog are left
    if os.getppid() != parent:
        os._exit(1)  # it ended before it was asked to tell


def end():
    """Ends this process at once, in the middle of whatever it does; its workers die with it, the rest is the guard's."""
    os.kill(os.getpid(), signal.SIGKILL)


def start():
    """Forks the guard, while this process still has one thread and little memory."""
    scratch = os.environ["PINBENCH_PROBE_SCRATCH"]
    group = os.getpgrp()
    is_own = group == os.getsid(0)
    if os.fork() == 0:
        try:
            _guard(group if is_own else None, scratch)
        finally:
            os._exit(0)
    os.close(LIFE_LINE)
    die_with_parent()


def _guard(group, scratch):
    # A group of its own, so that it can still remove the files of the one that it kills.
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2, 3):
        os.dup2(nothing, fd)
    # A byte says that pinbench has cleaned up, the end of the line that it could not.
    try:
        if os.read(LIFE_LINE, 1) != b"":
            return
    except ConnectionError:
        pass
    if group is not None:
        _end_group(group)
    clean_up(scratch)


def _end_group(group):
    try:
        # multiprocessing's resource tracker ignores this one. It removes what named shared memory is left when all
        # others have gone, for which it gets the time.
        os.killpg(group, signal.SIGTERM)
        time.sleep(_TRACKER_SECONDS)
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def clean_up(scratch):
    """Removes semaphores and temporary files: what ProbeProcess does where pinbench is still there."""
    for path in glob.glob("/dev/shm/sem." + semaphore_prefix(scratch) + "*"):
        os.unlink(path)
    shutil.rmtree(scratch, ignore_errors=True)


def semaphore_prefix(scratch):
    """How the names of multiprocessing's semaphores begin, so that none is left behind."""
    return os.path.basename(scratch) + "-"


def keep_in(scratch):
    """Puts sockets by which processes hand over batches, and semaphores, where clean_up() finds them.

    Processes that are killed leave theirs behind.
    """
    # Not at the top: the guard is forked from a process that has loaded little.
    import multiprocessing.process

    config = multiprocessing.process.current_process()._config
    config["tempdir"] = scratch
    config["semprefix"] = "/" + semaphore_prefix(scratch).rstrip("-")
