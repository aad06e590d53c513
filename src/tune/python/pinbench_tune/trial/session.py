"""A training process' connection to pinbench: one JSON object per line over a Unix socket.

Uses no thread: reports are written and commands read when the loop requests a batch. Neither waits for pinbench.
"""

import json
import os
import socket
import threading

import torch


class Session:
    """The connection of a process that constructs or iterates loaders. Raises OSError if pinbench cannot be reached."""

    def __init__(self, path):
        # Workers write the times of their batches to this folder.
        self.folder = os.path.dirname(path)
        # Whether pinbench has chosen a loader, or wants none.
        self.has_target = False
        self._watched = []
        self._unsent = self._unread = b""
        # Loaders may be iterated in several threads.
        self._lock = threading.RLock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)
        self._socket.setblocking(False)
        # If a worker inherited the socket, pinbench would not see this process end.
        os.register_at_fork(after_in_child=self._socket.close)
        self.tell("hello", pid=os.getpid(), **_rank())

    def tell(self, kind, /, **fields):
        with self._lock:
            self._unsent += json.dumps({"type": kind, **fields}).encode() + b"\n"
            self._send()

    def is_over(self):
        """Whether the search or pinbench itself has ended."""
        self.obey()
        return self._socket.fileno() < 0

    def add(self, watched):
        """Numbers a loader at its first iteration."""
        self._watched.append(watched)
        return len(self._watched)

    def obey(self):
        for command in self._commands():
            if command["type"] == "change":
                self._watched[command["loader"] - 1].asked = command
                continue
            self.has_target = True
            for watched in self._watched:
                watched.choose(watched.number == command.get("loader"))

    def _commands(self):
        with self._lock:
            self._send()
            try:
                some = self._socket.recv(65536)
            except BlockingIOError:
                return []
            except OSError:
                some = b""
            if not some:
                self._socket.close()
                return []
            *lines, self._unread = (self._unread + some).split(b"\n")
            return [json.loads(line) for line in lines]

    def _send(self):
        try:
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self._socket.close()


def _rank():
    """This process' rank, from the launcher or torch.distributed."""
    rank, world_size = _number("RANK", 0), _number("WORLD_SIZE", 1)
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        rank, world_size = distributed.get_rank(), distributed.get_world_size()
    return {
        "rank": rank,
        "worldSize": world_size,
        "localWorldSize": _number("LOCAL_WORLD_SIZE", world_size),
    }


def _number(name, otherwise):
    """An integer from the launcher's environment. Some launchers use -1 for a single process."""
    try:
        number = int(os.environ[name])
    except (KeyError, ValueError):
        return otherwise
    return number if number >= 0 else otherwise
