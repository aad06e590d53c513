"""Leaves notes that let pinbench's guard process clean up, even if pinbench is killed."""

import multiprocessing.process
import os
import signal


def keep_in(scratch):
    """Puts sockets and semaphores where pinbench can find them, because killed processes leave them behind."""
    config = multiprocessing.process.current_process()._config
    config["tempdir"] = scratch
    config["semprefix"] = "/" + os.path.basename(scratch)


def begin_child():
    """Called first in each child process: tells pinbench about its shared memory."""
    scratch = multiprocessing.process.current_process()._config.get("tempdir")
    if scratch is not None:
        open(os.path.join(scratch, "process-%d" % os.getpid()), "w").close()


def end():
    os.kill(os.getpid(), signal.SIGKILL)
