"""The descriptors between pinbench and tried workers. A script may close all descriptors, and then the numbers belong
to its own files: these are neither read, written nor closed.
"""

import contextlib
import os
import signal
import time

from torch.utils.data._utils import signal_handling

from ..probe import probe_module

file_of = probe_module("descriptors").file_of

# Time between two looks at all descriptors, of which each worker has three.
_LOOK_SECONDS = 0.25


class Handles:
    """Descriptors of a torch iterator with workers."""

    def __init__(self, iterator):
        self._iterator = iterator
        self._queues = [*iterator._index_queues, iterator._worker_result_queue]
        connections = [_own(each) for queue in self._queues for each in (queue._reader, queue._writer)]
        self._connections = [(each, file_of(each.fileno())) for each in connections]
        self._sentinels = [(each, file_of(each.sentinel)) for each in iterator._workers]
        # The lowest and the highest number: a script closes a range.
        by_number = sorted((each.fileno(), known) for each, known in self._connections)
        self._ends = (by_number[0], by_number[-1])
        self._looked = time.monotonic()

    def are_lost(self):
        # torch itself closed them at the end of an epoch.
        return not self._iterator._shutdown and self._have_changed()

    def seem_lost(self):
        """The same for each batch: mostly looks at two of them."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            return self.are_lost()
        return not self._iterator._shutdown and any(file_of(number) != known for number, known in self._ends)

    def _have_changed(self):
        return any(_file_behind(each) != known for each, known in self._connections) or any(
            file_of(worker.sentinel) != known for worker, known in self._sentinels
        )

    def close(self):
        """After torch has ended the workers: closes what it leaves to Python's collector, which may run too late."""
        for each, known in self._connections[-2:]:
            if _file_behind(each) == known:
                each.close()
        for worker, _ in self._sentinels:
            if not worker.is_alive():
                # Process.close() would make torch's own handler at exit fail, which still asks this process.
                worker._popen.close()

    def abandon(self):
        """Ends the workers without a message to them."""
        iterator = self._iterator
        # torch then skips its own ending.
        iterator._shutdown = True
        if hasattr(iterator, "_pin_memory_thread"):
            iterator._pin_memory_thread_done_event.set()
        signal_handling._remove_worker_pids(id(iterator))
        for worker, known in self._sentinels:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
            worker.join()
            if file_of(worker.sentinel) != known:
                worker._popen.finalizer.cancel()
        for each, known in self._connections:
            if _file_behind(each) != known:
                each._handle = None
        for queue in self._queues:
            queue.cancel_join_thread()
            queue.close()


def _own(connection):
    """torch wraps some of them."""
    return connection.__dict__.get("conn", connection) if hasattr(connection, "__dict__") else connection


def _file_behind(connection):
    return None if connection.closed else file_of(connection.fileno())
