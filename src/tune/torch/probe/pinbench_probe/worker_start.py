"""The start of each DataLoader worker, before the user's worker_init_fn."""

import faulthandler
import json
import multiprocessing.queues
import os
import signal
import sys
import traceback

from . import guard, making
from .descriptors import move_high

# pinbench sends it to all processes of a hanging group; each writes its stack.
WHERE_SIGNAL = signal.SIGUSR2
# Exit status of a worker whose batch cannot be sent; torch would let the training wait for it forever.
UNSENDABLE = 83


def tell_where_on_signal(scratch, name):
    """On WHERE_SIGNAL this process writes its stack to a file for pinbench, whichever thread holds the GIL."""
    path = os.path.join(scratch, name + ".stack")
    # Open while this process runs.
    file = move_high(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    faulthandler.register(WHERE_SIGNAL, file=file, all_threads=False, chain=False)


class WorkerStart:
    """Wraps the user's worker_init_fn; picklable if that is."""

    def __init__(self, init_fn, scratch, wrapped):
        self.init_fn = init_fn
        self.scratch = scratch
        # Whether the data set is inside one of pinbench's, which the user's code must not see.
        self.wrapped = wrapped

    def __call__(self, worker_id):
        from torch.utils.data import get_worker_info

        guard.begin_child()
        tell_where_on_signal(self.scratch, "worker-%d" % worker_id)
        multiprocessing.queues.Queue._on_queue_feeder_error = staticmethod(self._cannot_send)
        making.install(self.scratch)
        making.split(sys._getframe(1))
        info = get_worker_info()
        if self.wrapped:
            # Not at the top: workers that are spawned import this module before they need torch.
            from . import sharding

            sharding.record(self.scratch)
            object.__setattr__(info, "dataset", info.dataset.dataset)
        if self.init_fn is not None:
            self.init_fn(worker_id)

    def _cannot_send(self, error, _message):
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        with open(unsendable_file(self.scratch, os.getpid()), "w") as file:
            json.dump({"type": type(error).__name__, "text": text}, file)
        os._exit(UNSENDABLE)


def unsendable_file(scratch, pid):
    return os.path.join(scratch, "unsendable-%d.json" % pid)
