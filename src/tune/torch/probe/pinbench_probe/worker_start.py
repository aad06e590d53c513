"""What each DataLoader worker does before the user's worker_init_fn."""

import faulthandler
import json
import multiprocessing.queues
import os
import signal
import sys
import traceback

from . import guard, making
from .descriptors import move_high

# pinbench sends it to all of a group that hangs; each process then writes where it is.
WHERE_SIGNAL = signal.SIGUSR2
# Exit status of a worker whose batch cannot be sent; torch would let the training wait for it for ever.
UNSENDABLE = 83


def tell_where_on_signal(scratch, name):
    """On WHERE_SIGNAL this process writes its stack to a file that pinbench reads, whichever thread holds the GIL."""
    path = os.path.join(scratch, name + ".stack")
    # Open as long as this process runs.
    file = move_high(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    faulthandler.register(WHERE_SIGNAL, file=file, all_threads=False, chain=False)


class WorkerStart:
    """A worker_init_fn around the user's; picklable where theirs is."""

    def __init__(self, init_fn, scratch, wrapped):
        self.init_fn = init_fn
        self.scratch = scratch
        # Whether the data set is inside one of pinbench's own, which the user's code must not get to see.
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
