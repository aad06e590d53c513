"""Replaces DataLoader.__iter__, and reports the loaders of the process."""

import functools
import os
import weakref

from .probe import probe_module

_ATTRIBUTES = ("_index_sampler", "_get_iterator", "prefetch_factor", "persistent_workers", "generator")


def take_place(module):
    """`module` is torch.utils.data.dataloader, just executed."""
    socket = os.environ.get("PINBENCH_TUNE_SOCKET")
    if socket is None:
        return  # the script has cleared its environment since
    original = module.DataLoader.__iter__
    # Installed here, because spawned workers run this too.
    making = probe_module("making")
    making.install(os.path.dirname(socket))
    watch = _Watch(module, original)

    @functools.wraps(original)
    def __iter__(self):
        return watch.iterate(self)

    module.DataLoader.__iter__ = __iter__


class _Watch:
    """All loaders of a process, watched from their first iteration until pinbench chooses the one to tune."""

    def __init__(self, module, original):
        self._module = module
        self._original = original
        self._pid = None
        self._session = None
        # By id, because loaders may be equal or have no hash: a weak reference and a record for each.
        self._watched = {}

    def iterate(self, loader):
        # A data set may iterate its own loader, which is no training loop's.
        if self._module._utils.worker.get_worker_info() is not None:
            return self._original(loader)
        try:
            watched = self._find(loader)
        except Exception:
            # There is nothing to report on it.
            watched = None
        if watched is None or watched.is_untouched:
            if watched is not None and not watched.is_new:
                watched.renew(loader)
            return self._original(loader)
        return self._iterate(loader, watched)

    def _find(self, loader):
        """The record of a loader; None if it is not watched."""
        # A process forked by the script is separate.
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._watched = {}
            self._session = self._open()
        known, watched = self._watched.get(id(loader), (None, None))
        if known is not None and known() is loader:
            return watched
        if self._session is None or not self._session.is_open:
            return None
        from .watched import Watched

        forget = functools.partial(_forget, self._watched, id(loader))
        known = weakref.ref(loader, forget)
        watched = Watched(loader, self._session, _strangeness(loader))
        self._watched[id(loader)] = known, watched
        return watched

    def _open(self):
        from .session import Session

        try:
            return Session(os.environ["PINBENCH_TUNE_SOCKET"])
        except (OSError, KeyError):
            return None  # pinbench has ended, or the environment was cleared

    def _iterate(self, loader, watched):
        from .live_iterator import LiveIterator

        persists = watched.own["persistentWorkers"]
        if persists and not watched.is_new and loader._iterator is None:
            watched.renew(loader)
        iterator = watched.iterator()
        if iterator is not None and persists and not watched.is_new:
            iterator.begin()
            return iterator
        iterator = LiveIterator(loader, watched)
        watched.iterator = weakref.ref(iterator)
        return iterator


def _forget(watched, number, reference):
    """Another loader may get the id meanwhile."""
    if watched.get(number, (None,))[0] is reference:
        watched.pop(number)[1].end()


def _strangeness(loader):
    """Why a loader cannot be tuned; None if it can."""
    missing = [name for name in _ATTRIBUTES if not hasattr(loader, name)]
    if missing:
        return "it is a %s without %s" % (type(loader).__name__, missing[0])
    from torch.utils.data import DataLoader

    if type(loader)._get_iterator is not DataLoader._get_iterator:
        return "its type %s makes iterators of its own" % type(loader).__name__
    return None
