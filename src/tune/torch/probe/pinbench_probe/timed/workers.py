"""The worker processes of a DataLoader's iterator: ending them, and why they died."""

import os
import signal
import threading
import time

from ..faults import worker_faults

# Longest time for a worker to end by itself, because nobody needs its current batch.
_GRACE_SECONDS = 0.5
# Longest delay between a worker's errors here and the news of its end.
_EXIT_SECONDS = 0.3
# Errors of reading from a dead worker's socket.
_SYMPTOMS = (ConnectionError, EOFError, FileNotFoundError)


class Workers:
    """The workers of one trial: none before there is an iterator, or if the trial has no workers."""

    def __init__(self, usage, scratch):
        self._usage = usage
        self._scratch = scratch
        self._iterator = None
        self._handler = None

    def watch(self, iterator):
        self._iterator = iterator

    def pids(self):
        return [worker.pid for worker in self._processes() if worker.pid is not None]

    def hush(self):
        """Keeps torch from raising an error about a dead worker anywhere in this thread."""
        while True:
            try:
                if self._handler is None:
                    self._handler = signal.signal(signal.SIGCHLD, _nothing) or signal.SIG_DFL
                return
            except RuntimeError:
                pass  # an error from just before; torch raises one for each loader

    def fault(self, error):
        """The failure if a worker's death caused an error."""
        said = [str(each) for each in (error, error.__cause__, error.__context__)]
        is_told = any(each.startswith("DataLoader worker (pid") for each in said)
        if not is_told and not isinstance(error, _SYMPTOMS):
            return None
        end = time.monotonic() + _EXIT_SECONDS
        while True:
            # 0 counts too: os._exit(0) in a data set. The first failed worker says more.
            dead = [(worker.pid, worker.exitcode) for worker in self._processes() if worker.exitcode is not None]
            dead.sort(key=lambda ended: ended[1] == 0)
            if dead or time.monotonic() > end:
                break
            time.sleep(0.01)
        if not dead and not is_told:
            return None
        pid, exit_code = dead[0] if dead else worker_faults.as_torch_says("\n".join(said))
        return worker_faults.describe(pid, exit_code, self._usage, self._scratch)

    def end(self):
        """Ends the workers as torch does, and kills those that take longer than _GRACE_SECONDS."""
        processes = self._processes()
        timer = threading.Timer(_GRACE_SECONDS, lambda: _kill(processes))
        timer.start()
        try:
            if processes and hasattr(self._iterator, "_shutdown_workers"):
                self._iterator._shutdown_workers()
        finally:
            self._iterator = None
            timer.cancel()
            _kill(processes)
            for process in processes:
                process.join(_GRACE_SECONDS)
            if self._handler is not None:
                signal.signal(signal.SIGCHLD, self._handler)
                self._handler = None

    def _processes(self):
        return list(getattr(self._iterator, "_workers", None) or ())


def _nothing(_signal, _frame):
    """A function, because older Pythons call it for pending signals."""


def _kill(processes):
    for process in processes:
        if process.pid is not None and process.exitcode is None:
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
