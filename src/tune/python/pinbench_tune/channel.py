"""The connection to pinbench: one JSON object per line, over its own socket, which the user's prints cannot disturb."""

import json
import os
import queue
import socket
import threading
import time

from . import guard

CONTROL = 3
# Arrivals are sent in chunks so that sending does not slow the measured loop.
_CHUNK_SECONDS = 0.02


class Channel:
    """A thread queues pinbench's commands for the main thread. For "stop" it calls `on_stop(trial)` at once."""

    def __init__(self, on_stop):
        os.set_inheritable(CONTROL, False)
        self._socket = socket.socket(fileno=CONTROL)
        self._socket.setblocking(True)
        # If a worker inherited the socket, pinbench would not see this process end.
        os.register_at_fork(after_in_child=self._socket.close)
        self._commands = queue.Queue()
        self._on_stop = on_stop
        self._lock = threading.Lock()
        self._arrivals = []
        # Called before arrivals are sent: adds new ones and returns whether more will come.
        self._collect = None
        self._have_arrivals = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._tell_arrivals, daemon=True).start()

    def next_command(self):
        return self._commands.get()

    def send(self, kind, /, **fields):
        with self._lock:
            self._write({"type": kind, **fields})

    def arrived(self, ns):
        """Records an arrival; it is sent within milliseconds even if the main thread is busy."""
        self._arrivals.append(ns)
        self._have_arrivals.set()

    def collect_from(self, collect):
        """Sets `collect()`, which calls arrived() for new arrivals; it is called again while it returns true."""
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
                self._write({"type": "arrivals", "ns": arrivals})

    def _tell_arrivals(self):
        while True:
            self._have_arrivals.wait()
            self._have_arrivals.clear()
            self.flush_arrivals()
            time.sleep(_CHUNK_SECONDS)

    def _write(self, message):
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            guard.end()

    def _read(self):
        try:
            with self._socket.makefile("rb") as lines:
                for line in lines:
                    command = json.loads(line)
                    if command["type"] == "stop":
                        self._on_stop(command["trial"])
                    else:
                        self._commands.put(command)
        except OSError:
            pass  # pinbench was killed
        guard.end()
