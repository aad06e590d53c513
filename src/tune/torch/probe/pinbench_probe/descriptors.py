"""The probe's own descriptors, which the user's code must neither meet nor lose without a word."""

import fcntl
import os
import resource

# Beyond what os.closerange(3, 256) and its like reach. Not higher than need be: a fork copies the table up to it.
_HIGHEST = 1000
# Exit status where the user's code has closed one; torch-failures.ts words it.
CLOSED = 84


def move_high(fd):
    """The same file under a number that nobody meets by chance, no longer under the old one; not for other programs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    least = _HIGHEST if soft == resource.RLIM_INFINITY else min(_HIGHEST, soft // 2)
    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, least)
    os.close(fd)
    return high


class Descriptor:
    """A number, and which file it stood for: where it was closed, the number may be the user's file by now."""

    def __init__(self, fd):
        self.number = fd
        self._file = _file_of(fd)

    def is_ours(self):
        return self.number is not None and _file_of(self.number) == self._file

    def check(self):
        """Ends the process where the descriptor is lost: nothing can be told any more, but for an exit status."""
        if not self.is_ours():
            os._exit(CLOSED)

    def close_in_child(self):
        """Once: in the child's own children the number may be the user's."""
        if self.is_ours():
            os.close(self.number)
        self.number = None


def _file_of(fd):
    try:
        stat = os.fstat(fd)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
