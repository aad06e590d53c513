"""Ensures that nothing outlives pinbench, even if it is killed, or if native code here holds the GIL."""

import ctypes
import os
import shutil
import signal
import time

# No data goes over this descriptor: its end shows the guard that pinbench has ended.
LIFE_LINE = 4
_PR_SET_PDEATHSIG = 1
# Most time from SIGTERM to SIGKILL: the keepers of shared memory ignore the first, and remove what killed processes have
# left.
_KEEPER_SECONDS = 5


def start():
    """Forks the guard, while this process still has one thread and little memory."""
    scratch, group = os.environ["PINBENCH_PROBE_SCRATCH"], os.getpgrp()
    is_own = group == os.getsid(0)
    if os.fork() == 0:
        try:
            _guard(group if is_own else None, scratch)
        finally:
            os._exit(0)
    os.close(LIFE_LINE)
    die_with_parent()


def _guard(group, scratch):
    began = time.time()
    # Its own group, so that it can still remove the files of the group that it kills.
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2, 3):
        os.dup2(nothing, fd)
    # A byte means that pinbench has cleaned up; the end of the connection means that it could not.
    try:
        if os.read(LIFE_LINE, 1) != b"":
            return
    except ConnectionError:
        pass
    try:
        if group is not None:
            os.killpg(group, signal.SIGTERM)
            until = time.monotonic() + _KEEPER_SECONDS
            while time.monotonic() < until:
                time.sleep(0.1)
                os.killpg(group, 0)
            os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all have ended
    if group is not None:
        _remove_shared_memory(group, scratch, began)
    shutil.rmtree(scratch, ignore_errors=True)


def _remove_shared_memory(group, scratch, began):
    """Removes what torch has named after this program or a process of it, and killed processes could not remove."""
    makers = {str(group)}
    try:
        makers |= {name[len("process-"):] for name in os.listdir(scratch) if name.startswith("process-")}
        names = os.listdir("/dev/shm")
    except OSError:
        return
    for name in names:
        parts = name.split("_")
        path = os.path.join("/dev/shm", name)
        try:
            if parts[0] == "torch" and parts[1:2] and parts[1] in makers and os.stat(path).st_ctime >= began:
                os.unlink(path)
        except OSError:
            pass  # it is gone


def die_with_parent():
    """Lets the kernel kill this process when the thread that started it ends."""
    parent = os.getppid()
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return  # a C library without it: the process group and torch's own watchdog remain
    if os.getppid() != parent:
        os._exit(1)  # the parent ended before the request


def begin_child():
    """The first action of each child process: it will die with its parent, and pinbench knows its shared memory."""
    from multiprocessing.process import current_process

    die_with_parent()
    scratch = current_process()._config.get("tempdir")
    if scratch is not None:
        open(os.path.join(scratch, "process-%d" % os.getpid()), "w").close()


def end():
    """Ends this process at once, even in the middle of an action; its workers die with it, and the guard cleans up."""
    os.kill(os.getpid(), signal.SIGKILL)


def keep_in(scratch):
    """Puts the sockets for batches, and semaphores, where pinbench finds them. Killed processes leave theirs behind."""
    # Not at the top: the guard is forked from a process that has loaded little.
    import multiprocessing.process

    config = multiprocessing.process.current_process()._config
    config["tempdir"] = scratch
    config["semprefix"] = "/" + os.path.basename(scratch)
