"""Replaces DataLoader.__iter__ in a training that is thrown away, and keeps track of the process' loaders."""

import functools
import inspect
import multiprocessing
import os
import sys
import weakref

from ..go import bound, name_of, when_torch_is_imported


def watch():
    when_torch_is_imported(_take_place)


def _take_place(module):
    """`module`: torch.utils.data.dataloader, just executed."""
    path = os.environ.get("PINBENCH_TUNE_SOCKET")
    if path is None:
        return  # the script cleared its environment
    # Disables torch's handler, which raises errors about dead workers anywhere; waiting for a batch finds them too.
    module._utils.signal_handling._SIGCHLD_handler_set = True
    watch = Watch(module.DataLoader, path)
    watch.take_place()
    previous = sys.excepthook

    def hook(kind, error, trace):
        """Hides tracebacks of the interrupt that ends the training after the search, and of its workers."""
        if not (issubclass(kind, (KeyboardInterrupt, ConnectionError)) and watch.is_over()):
            previous(kind, error, trace)

    sys.excepthook = hook


class Watch:
    """The loaders of a process. A loader that is constructed again for each epoch counts as one."""

    def __init__(self, kind, path):
        self._kind = kind
        self._path = path
        self.iterate = kind.__iter__
        self._pid = None
        self._session = None
        # Pairs of a weak reference and a record: a dict would compare loaders.
        self._watched = []

    def take_place(self):
        construct, iterate = self._kind.__init__, self.iterate
        signature = inspect.signature(construct)

        @functools.wraps(construct)
        def __init__(loader, *positional, **named):
            found = bound(signature, loader, positional, named)
            construct(loader, *positional, **named)
            if found is not None:
                vars(loader)["_pinbench_name"] = name_of(found.arguments)
            if type(loader).__iter__ is not __iter__:
                self._tell_own_iter(loader)

        @functools.wraps(iterate)
        def __iter__(loader):
            return self.iterator_of(loader)

        self._kind.__init__, self._kind.__iter__ = __init__, __iter__

    def is_over(self):
        return self._session is not None and self._session.is_over()

    def iterator_of(self, loader):
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            # The script is run again, as a module, by a worker or rank that is starting: it would train twice.
            raise RuntimeError("Processes that are not forked import the script: start it in `if __name__ == '__main__':`.")
        # A data set in a worker may iterate its own loader, which no training loop uses.
        session = None if _is_in_worker() else self._open()
        if session is None:
            return self.iterate(loader)
        if type(loader)._get_iterator is not self._kind._get_iterator:
            self._tell_own_iter(loader)
            return self.iterate(loader)
        from .iterator import SearchIterator

        watched = self.find(loader)
        return SearchIterator(loader, watched) if watched.is_told else self.iterate(loader)

    def find(self, loader):
        for known, watched in self._watched:
            if known() is loader:
                return watched
        from .iterator import Watched

        name = vars(loader).get("_pinbench_name")
        gone = [at for at, (known, each) in enumerate(self._watched) if known() is None and each.name == name]
        if gone and name is not None:
            _, watched = self._watched.pop(gone[0])
            watched.renew(loader)
        else:
            watched = Watched(loader, self._session, name, self.iterate)
        self._watched.append((weakref.ref(loader), watched))
        return watched

    def _tell_own_iter(self, loader):
        """Records a loader with its own __iter__, so that pinbench can name it if it cannot be tuned."""
        session = None if _is_in_worker() else self._open()
        if session is not None:
            session.tell("ownIter", name="%s.%s" % (type(loader).__module__, type(loader).__qualname__))

    def _open(self):
        """The connection to pinbench; None if it has ended. A process forked by the script gets its own."""
        if self._pid != os.getpid():
            from .session import Session

            self._pid = os.getpid()
            self._watched = []
            # Sockets between this process and its workers go to a folder that pinbench removes.
            multiprocessing.current_process()._config["tempdir"] = os.path.dirname(self._path)
            try:
                self._session = Session(self._path)
            except OSError:
                self._session = None
        return self._session


def _is_in_worker():
    from torch.utils.data import get_worker_info

    return get_worker_info() is not None
