"""The line to pinbench: JSON, an object a line, over a socket of its own that no print of the user's can disturb."""

import json
import os
import queue
import threading
import time

from . import guard

CONTROL = 3
# Arrivals are told in chunks, so that telling them takes nothing from what is measured.
_CHUNK_SECONDS = 0.02


class Channel:
    """Commands come in by a thread, which keeps them for the main one; what must not wait has a callback."""

    def __init__(self, on_stop):
        os.set_inheritable(CONTROL, False)
        os.set_blocking(CONTROL, True)
        # A worker that held it would keep pinbench from seeing that this process has ended.
        os.register_at_fork(after_in_child=lambda: os.close(CONTROL))
        self._commands = queue.Queue()
        self._on_stop = on_stop
        self._lock = threading.Lock()
        self._arrivals = []
        self._have_arrivals = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._tell_arrivals, daemon=True).start()

    def next_command(self):
        return self._commands.get()

    def send(self, kind, /, **fields):
        self._write({"type": kind, **fields})

    def arrived(self, ns):
        """A batch has arrived; told within some milliseconds, also while the main thread is busy."""
        self._arrivals.append(ns)
        self._have_arrivals.set()

    def flush_arrivals(self):
        with self._lock:
            arrivals, self._arrivals = self._arrivals, []
            if arrivals:
                self._write_locked({"type": "arrivals", "ns": arrivals})

    def _tell_arrivals(self):
        while True:
            self._have_arrivals.wait()
            self._have_arrivals.clear()
            self.flush_arrivals()
            time.sleep(_CHUNK_SECONDS)

    def _write(self, message):
        with self._lock:
            self._write_locked(message)

    def _write_locked(self, message):
        left = memoryview(json.dumps(message).encode() + b"\n")
        try:
            while left:
                left = left[os.write(CONTROL, left):]
        except OSError:
            guard.end()

    def _read(self):
        with os.fdopen(CONTROL, "rb", closefd=False) as lines:
            for line in lines:
                command = json.loads(line)
                if command["type"] == "stop":
                    self._on_stop(command["trial"])
                else:
                    self._commands.put(command)
        guard.end()
