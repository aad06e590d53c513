"""The connection to pinbench: JSON, an object a line, over its own socket, which no print of the user's can disturb."""

import json
import os
import queue
import threading
import time

from . import guard
from .descriptors import Descriptor, move_high

# The descriptor of the socket that pinbench passes.
CONTROL = 3
# Arrivals are sent in chunks so that sending does not slow the measured loop.
_CHUNK_SECONDS = 0.02


class Channel:
    """A thread queues commands for the main one; for "stop" it calls `on_stop(trial)` at once."""

    def __init__(self, on_stop):
        os.set_blocking(CONTROL, True)
        self._socket = Descriptor(move_high(CONTROL))
        # A worker that inherited it would hide the end of this process from pinbench.
        os.register_at_fork(after_in_child=self._socket.close_in_child)
        self._commands = queue.Queue()
        self._on_stop = on_stop
        self._lock = threading.Lock()
        self._arrivals = []
        # Called before arrivals are sent: adds new ones, and returns whether more are under way.
        self._collect = None
        self._have_arrivals = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._tell_arrivals, daemon=True).start()

    def next_command(self):
        return self._commands.get()

    def send(self, kind, /, **fields):
        self._write({"type": kind, **fields})

    def arrived(self, ns):
        """Records an arrival, which is sent within some milliseconds even if the main thread is busy."""
        self._arrivals.append(ns)
        self._have_arrivals.set()

    def collect_from(self, collect):
        """`collect()` calls arrived() for new arrivals, and returns whether more will come; if so it is called again.
        """
        with self._lock:
            self._collect = collect

    def expect(self):
        """Announces a batch whose arrival `collect` will notice."""
        self._have_arrivals.set()

    def flush_arrivals(self):
        with self._lock:
            if self._collect is not None and self._collect():
                self._have_arrivals.set()
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
                self._socket.check()
                left = left[os.write(self._socket.number, left):]
        except OSError:
            self._socket.check()
            guard.end()

    def _read(self):
        rest = b""
        while True:
            self._socket.check()
            try:
                some = os.read(self._socket.number, 65536)
            except OSError:
                some = b""
            if not some:
                self._socket.check()
                guard.end()
            *lines, rest = (rest + some).split(b"\n")
            for line in lines:
                self._obey(json.loads(line))

    def _obey(self, command):
        if command["type"] == "stop":
            self._on_stop(command["trial"])
        else:
            self._commands.put(command)
