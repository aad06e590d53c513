"""Ensures that nothing outlives pinbench, even if it is killed, or if native code here holds the GIL."""

import ctypes
import glob
import os
import shutil
import signal
import time

# No data goes over this descriptor: its end shows the guard that pinbench has ended.
LIFE_LINE = 4
_PR_SET_PDEATHSIG = 1
# Name of a file in the scratch folder for each process; ProbeProcess also reads them.
_NOTE = "process-"
# The same limits as in ProbeProcess (probe-process.ts).
_TERMINATE_SECONDS = 0.3
_KEEPER_SECONDS = 1
_KILL_SECONDS = 5
_KEEPERS = (b"multiprocessing.resource_tracker", b"torch_shm_manager")


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
    """The first action of each child process: it will die with its parent, and clean_up() knows its shared memory."""
    from multiprocessing.process import current_process

    die_with_parent()
    scratch = current_process()._config.get("tempdir")
    if scratch is None:
        return  # without keep_in() there is no scratch folder to clean up
    try:
        os.close(os.open(os.path.join(scratch, _NOTE + str(os.getpid())), os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError:
        pass  # all is being removed


def end():
    """Ends this process at once, even in the middle of an action; its workers die with it, and the guard cleans up."""
    os.kill(os.getpid(), signal.SIGKILL)


def start():
    """Forks the guard, while this process still has one thread and little memory."""
    scratch = os.environ["PINBENCH_PROBE_SCRATCH"]
    group = os.getpgrp()
    is_own = group == os.getsid(0)
    main = os.getpid()
    if os.fork() == 0:
        try:
            _guard(main, group if is_own else None, scratch)
        finally:
            os._exit(0)
    os.close(LIFE_LINE)
    die_with_parent()


def _guard(main, group, scratch):
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
    if group is not None:
        _end_group(group)
    clean_up(scratch, main, group)


def _end_group(group):
    # The keepers of shared memory ignore SIGTERM. They remove what is left when all others have ended.
    _send(os.killpg, group, signal.SIGTERM)
    _until_gone(group, _TERMINATE_SECONDS)
    for pid in _members(group):
        if not any(keeper in _read(pid, "cmdline") for keeper in _KEEPERS):
            _send(os.kill, pid, signal.SIGKILL)
    _until_gone(group, _KEEPER_SECONDS)
    _send(os.killpg, group, signal.SIGKILL)
    _until_gone(group, _KILL_SECONDS)


def _send(kill, target, number):
    try:
        kill(target, number)
    except ProcessLookupError:
        pass  # it has ended


def _until_gone(group, seconds):
    end = time.monotonic() + seconds
    while _members(group) and time.monotonic() < end:
        time.sleep(0.02)


def _members(group):
    """The running ones; an ended one stays in the list until it is waited for."""
    members = []
    for name in os.listdir("/proc"):
        # "PID (NAME) STATE PARENT GROUP ...", where the name may hold anything.
        fields = _read(name, "stat").rpartition(b")")[2].split() if name.isdigit() else []
        if len(fields) > 2 and int(fields[2]) == group and fields[0] not in (b"Z", b"X"):
            members.append(int(name))
    return members


def _read(pid, file):
    try:
        with open("/proc/%s/%s" % (pid, file), "rb") as opened:
            return opened.read()
    except OSError:
        return b""


def _group_of(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _unlink(path):
    try:
        os.unlink(path)
    except OSError:
        pass  # its creator was faster


def clean_up(scratch, main, group):
    """Removes shared memory and temporary files, as ProbeProcess does if pinbench still runs."""
    for path in glob.glob("/dev/shm/sem." + semaphore_prefix(scratch) + "*"):
        _unlink(path)
    notes = glob.glob(os.path.join(glob.escape(scratch), _NOTE + "*"))
    for pid in [main] + [int(os.path.basename(note)[len(_NOTE) :]) for note in notes]:
        # A process in another group has reused the number of an ended one.
        if _group_of(pid) in (None, group):
            for path in glob.glob("/dev/shm/torch_%d_*" % pid):
                _unlink(path)
    shutil.rmtree(scratch, ignore_errors=True)


def semaphore_prefix(scratch):
    """The prefix of multiprocessing's semaphores, for removing them all."""
    return os.path.basename(scratch) + "-"


def keep_in(scratch):
    """Puts the sockets for batches, and semaphores, where clean_up() finds them. Killed processes leave theirs behind.
    """
    # Not at the top: the guard is forked from a process that has loaded little.
    import multiprocessing.process

    config = multiprocessing.process.current_process()._config
    config["tempdir"] = scratch
    config["semprefix"] = "/" + semaphore_prefix(scratch).rstrip("-")
