"""The iterator that the training loop gets: batches in the sampler's order, whatever makes them."""

import contextlib
import time

from . import deaths, failures
from .feed import Feed
from .inner import Inner, draw_seed, is_stream, unchanged_randomness
from .reporting import Reporting


class LiveIterator:
    """One epoch of a watched loader. All inner loaders draw from one feed. Where the setting is changed, the one before
    delivers what it has drawn, and then the next one, whose workers have started meanwhile, its own.
    """

    def __init__(self, loader, watched):
        self._loader = loader
        self._watched = watched
        self._reporting = Reporting(watched)
        watched.session.obey()
        asked = watched.asked
        if asked is not None and asked["atBatch"] <= watched.delivered:
            watched.asked = None
            watched.setting, watched.change = asked["setting"], asked["change"]
            self._reporting.changed(asked["change"])
        self._has_delivered = False
        # The oldest delivers; only the last one draws.
        self._inners = [self._begin_epoch()]
        watched.epochs += 1
        self._reporting.epoch("begin")

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader._index_sampler)

    def __getattr__(self, name):
        # Some frameworks look at the iterator that they expect here.
        if name.startswith("__") or not self.__dict__.get("_inners"):
            raise AttributeError(name)
        return getattr(self._inners[-1].iterator, name)

    def __next__(self):
        if not self._watched.is_told and self._watched.asked is None:
            return self._next_batch()
        began_ns = time.perf_counter_ns()
        self._watched.session.obey()
        asked = self._watched.asked
        if asked is not None and asked["atBatch"] <= self._watched.delivered and not is_stream(self._loader):
            self._watched.asked = None
            self._change(asked)
        inner = self._inners[0] if self._inners else None
        batch = self._next_batch()
        # Where the oldest one had nothing left, the next has delivered.
        inner = self._inners[0] if inner not in self._inners else inner
        self._reporting.delivered(inner, batch, began_ns)
        return batch

    def _begin_epoch(self):
        """The generators are left as the script's own loader would leave them, so that epochs are shuffled alike."""
        loader, watched = self._loader, self._watched
        own = watched.own
        own_draws = watched.epochs == 0 or not own["persistentWorkers"]
        feed = Feed(iter(loader._index_sampler))
        inner = watched.persisting() or Inner(loader, watched.setting, watched.change)
        is_drawing = own_draws and inner.draws
        if own_draws and not is_drawing:
            draw_seed(loader)
        with contextlib.nullcontext() if is_drawing else unchanged_randomness(loader):
            inner = self._start_or_fall_back(inner, feed)
        if own_draws and own["numWorkers"] > 0:
            # As torch does, once for the iterator and once for its workers: a sampler may draw when it is asked.
            feed.indices = iter(loader._index_sampler)
        self._feed = feed
        watched.put_in_force(inner)
        if inner.change != 0:
            deaths.watch(inner)
        inner.open()
        return inner

    def _start_or_fall_back(self, inner, feed):
        """What has been started: under the script's own setting where that of `inner` does not come to life."""
        try:
            inner.start(feed)
            return inner
        except Exception as error:
            if inner.change == 0:
                raise
            told = failures.describe(error, inner, has_started=False)
            deaths.end(inner)
            self._failed(inner.change, told)
        own = Inner(self._loader, self._watched.own, 0)
        with unchanged_randomness(self._loader):
            own.start(feed)
        return own

    def _change(self, asked):
        watched = self._watched
        inner = Inner(self._loader, asked["setting"], asked["change"])
        try:
            with unchanged_randomness(self._loader):
                inner.start(self._feed)
        except Exception as error:
            told = failures.describe(error, inner, has_started=False)
            deaths.end(inner)
            self._failed(asked["change"], told)
            return
        deaths.watch(inner)
        self._inners[-1].close()
        self._inners.append(inner)
        watched.put_in_force(inner)
        inner.open()
        self._reporting.changed(asked["change"])

    def _next_batch(self):
        while self._inners:
            inner = self._inners[0]
            try:
                batch = deaths.next_of(inner)
            except StopIteration:
                if len(self._inners) > 1:
                    deaths.end(self._inners.pop(0))
                    continue
                self._end_epoch()
                raise
            except Exception as error:
                if self._falls_back(inner, error):
                    continue
                inner.gate.delivered()
                raise
            inner.gate.delivered()
            self._has_delivered = True
            self._watched.delivered += 1
            return batch
        raise StopIteration

    def _end_epoch(self):
        self._reporting.epoch("end")
        self._inners.clear()

    def _falls_back(self, inner, error):
        """Where a batch fails under a setting that pinbench has tried, it is drawn again under the script's own, with
        all that are outstanding: memory, files or processes may be wanting, or the data set be one that cannot be in a
        worker, or only there. What it raises then as well is the script's own matter. Not where the order is lost.
        """
        if inner.change == 0 or error is self._feed.error:
            return False
        if is_stream(self._loader) and self._has_delivered:
            return False
        if not getattr(self._loader, "in_order", True):
            return False
        told = failures.describe(error, inner, has_started=True)
        # One that has taken over since goes on with what it has drawn, and remains in force.
        is_last = inner is self._inners[-1]
        feed = self._feed if is_last else Feed(iter(()))
        feed.give_back(inner.gate.outstanding)
        deaths.end(inner)
        own = Inner(self._loader, self._watched.own, 0)
        with unchanged_randomness(self._loader):
            own.start(feed)
        self._inners[0] = own
        if is_last:
            self._watched.put_in_force(own)
        own.open()
        self._failed(inner.change, told)
        return True

    def _failed(self, change, told):
        self._reporting.flush()
        self._watched.tell("failed", change=change, **told)
