"""The conversation between this training process and pinbench."""

import os
import platform

import torch

from .line import Line
from .probe import probe_module


class Session:
    """One for each process that iterates a loader. Raises OSError if pinbench cannot be reached."""

    def __init__(self, path):
        self._line = Line(path)
        # Folder in which workers write the time of making batches.
        self.folder = os.path.dirname(path)
        self._watched = []
        self._target = None
        self.tell("hello", pid=os.getpid(), python=platform.python_version(), torch=torch.__version__, **_rank())

    @property
    def is_open(self):
        """Whether pinbench wants reports on further loaders."""
        return self._line.is_open and self._target is None

    def tell(self, kind, /, **fields):
        self._line.tell(kind, **fields)

    def add(self, watched):
        """The number of a loader that is iterated for the first time."""
        self._watched.append(watched)
        return len(self._watched)

    def obey(self):
        """Carries out pinbench's requests that change settings."""
        for command in self._line.commands():
            kind = command["type"]
            if kind == "target":
                self._target = command["loader"]
                for watched in self._watched:
                    watched.is_told = watched.is_target = watched.number == self._target
            elif kind == "change":
                self._watched[command["loader"] - 1].asked = command
            elif kind == "end":
                self._watched[command["loader"] - 1].ends_at = command["atBatch"]
            elif kind == "rest":
                self._rest()
        if not self._line.is_open:
            self._rest()

    def _rest(self):
        for watched in self._watched:
            watched.is_told = watched.is_target = False
        # Times of making batches are no longer needed.
        probe_module("making").install(None)
        # Loaders iterated from now on do not concern pinbench.
        self._target = self._target or 0


def _rank():
    """The rank of this training process, if the launcher or torch.distributed say."""
    rank, world_size = _number("RANK", 0), _number("WORLD_SIZE", 1)
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        rank, world_size = distributed.get_rank(), distributed.get_world_size()
    return {
        "rank": rank,
        "worldSize": world_size,
        "localRank": _number("LOCAL_RANK", rank),
        "localWorldSize": _number("LOCAL_WORLD_SIZE", world_size),
    }


def _number(name, otherwise):
    """A launcher's value; some use -1 for a single process."""
    try:
        number = int(os.environ[name])
    except (KeyError, ValueError):
        return otherwise
    return number if number >= 0 else otherwise
