"""The line to pinbench: JSON, an object a line, over a Unix socket.

There is no thread: reports are written, and commands are read, while the training loop asks for a batch.
Neither ever waits for pinbench.
"""

import json
import os
import socket
import threading

from .probe import probe_module

file_of = probe_module("descriptors").file_of

# pinbench reads continuously: this much is unread only if it has been stopped, and then waiting is pointless.
_MOST_UNSENT = 1 << 22


class Line:
    """Raises OSError if pinbench cannot be reached. `is_open` becomes false when it has ended."""

    def __init__(self, path):
        self.is_open = True
        self._unsent = b""
        self._unread = b""
        # Loaders may be iterated in several threads.
        self._lock = threading.RLock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self._file = file_of(self._socket.fileno())
        # A worker that inherited it would hide the end of this process from pinbench.
        os.register_at_fork(after_in_child=self.close)

    def tell(self, kind, /, **fields):
        if self.is_open:
            with self._lock:
                self._unsent += json.dumps({"type": kind, **fields}).encode() + b"\n"
                if self._is_there():
                    self._send()
                else:
                    self.close()

    def commands(self):
        """Commands since the last call."""
        # Another thread that is reading takes these commands.
        if not self.is_open or not self._lock.acquire(blocking=False):
            return []
        try:
            return self._read()
        finally:
            self._lock.release()

    def close(self):
        self.is_open = False
        self._unsent = b""
        if self._is_there():
            self._socket.close()
        else:
            # The script has closed it, and the number may belong to its own file.
            self._socket.detach()

    def _is_there(self):
        return file_of(self._socket.fileno()) == self._file

    def _read(self):
        if not self._is_there():
            self.close()
            return []
        self._send()
        try:
            some = self._socket.recv(65536)
        except BlockingIOError:
            return []
        except OSError:
            some = b""
        if not some:
            self.close()
            return []
        *lines, self._unread = (self._unread + some).split(b"\n")
        return [json.loads(line) for line in lines]

    def _send(self):
        try:
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent):]
        except BlockingIOError:
            if len(self._unsent) > _MOST_UNSENT:
                self.close()
        except OSError:
            self.close()
