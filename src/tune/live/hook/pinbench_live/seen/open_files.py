"""Files that this process has open for reading, with their positions, which forked workers would share."""

import os
import re
import stat

_POSITION = re.compile(r"pos:\s*(\d+)\s+flags:\s*([0-7]+)")


def positions():
    """By descriptor: (path, identity, position)."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            fd = int(name)
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                continue
            with open("/proc/self/fdinfo/" + name) as file:
                position, flags = _POSITION.match(file.read()).groups()
            if int(flags, 8) & os.O_ACCMODE != os.O_WRONLY:
                found[fd] = os.readlink("/proc/self/fd/" + name), (status.st_dev, status.st_ino), int(position)
        except (OSError, ValueError, AttributeError):
            pass  # it has been closed meanwhile
    return found


def moved(before, now):
    """The path of a file whose position has moved since; None if none has."""
    for fd, (path, identity, position) in now.items():
        if fd in before and before[fd][1] == identity and before[fd][2] != position:
            return path
    return None
