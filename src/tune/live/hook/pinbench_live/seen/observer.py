"""Side effects of making a batch on its process."""

import os

from ..probe import probe_module
from . import open_files
from .reachable import Reachable

generators = probe_module("generators")
worker_records = probe_module("worker_records")


class Observer:
    """For `making.observe()`. `dataset`: observe this one only. `path`: the file for a worker's record."""

    def __init__(self, dataset=None, path=None):
        self.error = None
        # Whether random numbers were drawn.
        self.is_random = False
        # Names of objects changed by the first batch and by later ones: first ones may open files and fill caches.
        self.first_changed = None
        self.changed = None
        # The path of a file that was opened and is still open.
        self.opened = None
        self._dataset = dataset
        self._path = path
        self._made = 0
        self._before = None

    def before(self, fetcher):
        if self._dataset is None or fetcher.dataset is self._dataset:
            self._before = generators.states(), roots_of(fetcher), open_files.positions()

    def after(self, fetcher):
        if self._before is None:
            return
        (states, reachable, files), self._before = self._before, None
        self.is_random |= generators.have_moved(states, generators.states()) or reachable.has_drawn()
        self.opened = next((path for fd, (path, *_) in open_files.positions().items() if fd not in files), self.opened)
        if self._made == 0:
            self.first_changed = reachable.changed()
        else:
            self.changed = self.changed or reachable.changed()
        self._made += 1
        if self._path is not None:
            seen = {name: getattr(self, name) for name in ("is_random", "first_changed", "changed", "opened")}
            worker_records.write(self._path, seen)


def roots_of(owner):
    """What the data set and the collate function of a loader, or of a fetcher, can reach."""
    return Reachable({"dataset": owner.dataset, "collate_fn": owner.collate_fn})


def order_of(loader):
    """Objects reachable from its sampler, without the data set."""
    return Reachable({"sampler": loader._index_sampler}, without=loader.dataset)


def path_of(folder, pid):
    """A worker's record."""
    return os.path.join(folder, "observed-%d.json" % pid)
