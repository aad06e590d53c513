"""The probe's own descriptors, which the user's code must not use by accident or close unnoticed."""

import fcntl
import os
import resource

# Above the reach of os.closerange(3, 256) and the like. No higher than necessary, because a fork copies the table up to
# it.
_HIGHEST = 1000
# Exit status if the user's code has closed one; torch-failures.ts has its text.
CLOSED = 84


def move_high(fd):
    """Moves the file to a number that no code uses by chance; other programs do not inherit it."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    least = _HIGHEST if soft == resource.RLIM_INFINITY else min(_HIGHEST, soft // 2)
    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, least)
    os.close(fd)
    return high


class Descriptor:
    """A number and its file: after a close the number may belong to the user's file."""

    def __init__(self, fd):
        self.number = fd
        self._file = file_of(fd)

    def is_ours(self):
        return self.number is not None and file_of(self.number) == self._file

    def check(self):
        """Ends the process if the descriptor is lost: only an exit status can still be reported."""
        if not self.is_ours():
            os._exit(CLOSED)

    def close_in_child(self):
        """Only once: in the child's own children the number may be the user's."""
        if self.is_ours():
            os.close(self.number)
        self.number = None


def file_of(fd):
    """(device, inode) of its file; None if it is closed."""
    try:
        stat = os.fstat(fd)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
