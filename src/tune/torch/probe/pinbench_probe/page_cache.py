"""Makes files come from storage again, as in a first epoch."""

import os
import time

# How often it is said that it is still at work, and asked whether to go on.
_ALIVE_SECONDS = 1


class ColdFolder:
    """The files below a folder, of which the page cache is to hold nothing when a trial begins."""

    def __init__(self, path):
        self._path = path
        self._is_written = False

    def drop(self, goes_on):
        """`goes_on()` is called every second; where it is false, the rest is left as it is."""
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
            # What is no regular file must not be waited for.
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return  # the data set does not read it either, or says so itself
        try:
            if not self._is_written:
                os.fdatasync(file)  # the kernel keeps what is not on storage yet
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass  # no regular file
        finally:
            os.close(file)
