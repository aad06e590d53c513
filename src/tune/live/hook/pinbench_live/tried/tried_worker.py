"""The start of a tried setting's worker, before the script's own worker_init_fn."""

import json
import multiprocessing.queues
import os
import sys
import traceback

from ..probe import probe_module


class TriedWorker:
    """Wraps the script's worker_init_fn; picklable if that is. With `is_observed`, the side effects of making batches
    are written to `folder`.
    """

    def __init__(self, init_fn, folder, is_observed):
        self.init_fn = init_fn
        self.folder = folder
        self.is_observed = is_observed

    def __call__(self, worker_id):
        # torch would let the loop wait forever for a batch that cannot be sent.
        multiprocessing.queues.Queue._on_queue_feeder_error = staticmethod(self._cannot_send)
        if self.is_observed:
            from ..seen.observer import Observer, path_of

            probe_module("making").observe(Observer(path=path_of(self.folder, os.getpid())))
            probe_module("sharding").record(self.folder)
        else:
            probe_module("making").split(sys._getframe(1))
        if self.init_fn is not None:
            self.init_fn(worker_id)

    def _cannot_send(self, error, _message):
        names = probe_module("worker_start")
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        try:
            with open(names.unsendable_file(self.folder, os.getpid()), "w") as file:
                json.dump({"type": type(error).__name__, "text": text}, file)
        finally:
            os._exit(names.UNSENDABLE)
