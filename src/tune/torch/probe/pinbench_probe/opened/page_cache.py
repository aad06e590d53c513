"""Drops files from the page cache, as before a first epoch."""

import os
import time

# Interval of reporting progress, and of asking whether to continue.
_ALIVE_SECONDS = 1


class ColdFolder:
    """The files below a folder that must not be in the page cache when a trial begins."""

    def __init__(self, path):
        self._path = path
        self._is_written = False

    def drop(self, goes_on):
        """`goes_on()` is called every second; if it returns false, the rest is left."""
        asked = time.monotonic()
        for folder, _, names in os.walk(self._path):
            for name in names:
                self._drop_file(os.path.join(folder, name))
                if time.monotonic() - asked > _ALIVE_SECONDS:
                    asked = time.monotonic()
                    if not goes_on():
                        return
        self._is_written = True

    def _drop_file(self, path):
        try:
            # Opening another kind of file must not block.
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return  # the data set cannot read it either, or reports it itself
        try:
            if not self._is_written:
                os.fdatasync(file)  # the kernel keeps pages that are not on storage yet
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass  # not a regular file
        finally:
            os.close(file)
