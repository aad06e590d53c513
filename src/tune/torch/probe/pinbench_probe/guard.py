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
# A file of this name in the scratch folder for each process; ProbeProcess reads them too.
_NOTE = "process-"
# As ProbeProcess has them in probe-process.ts.
_TERMINATE_SECONDS = 0.3
_KEEPER_SECONDS = 1
_KILL_SECONDS = 5
_KEEPERS = (b"multiprocessing.resource_tracker", b"torch_shm_manager")


def die_with_parent():
    """Has the kernel kill this process when the thread that started it ends."""
    parent = os.getppid()
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return  # a C library without it: the process group's end and torch's own watchdog are left
    if os.getppid() != parent:
        os._exit(1)  # it ended before it was asked to tell


def begin_child():
    """What each process that this one starts does first: it dies with its parent, and clean_up() knows its shared memory."""
    from multiprocessing.process import current_process

    die_with_parent()
    scratch = current_process()._config.get("tempdir")
    if scratch is None:
        return  # nobody asked to keep_in() a scratch folder, so nobody cleans one up
    try:
        os.close(os.open(os.path.join(scratch, _NOTE + str(os.getpid())), os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError:
        pass  # all is being removed


def end():
    """Ends this process at once, in the middle of whatever it does; its workers die with it, the rest is the guard's."""
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
    """Those that run; what has ended stays in the list until somebody waits for it."""
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
        pass  # whoever made it was quicker


def clean_up(scratch, main, group):
    """Removes shared memory and temporary files: what ProbeProcess does where pinbench is still there."""
    for path in glob.glob("/dev/shm/sem." + semaphore_prefix(scratch) + "*"):
        _unlink(path)
    notes = glob.glob(os.path.join(glob.escape(scratch), _NOTE + "*"))
    for pid in [main] + [int(os.path.basename(note)[len(_NOTE) :]) for note in notes]:
        # One that runs in another group has got the number of one that ended.
        if _group_of(pid) in (None, group):
            for path in glob.glob("/dev/shm/torch_%d_*" % pid):
                _unlink(path)
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
