"""The iterator that the training loop gets: batches in the sampler's order, whichever loader makes them."""

import contextlib
import time

from .ahead import Ahead
from .judged import evidence
from .judged.aside import Aside, lists_kept
from .judged.verdict import DISCARDED, HANDED, REFUSED, Verdict
from .like_torch import LikeTorch
from .own_again import OwnAgain
from .reporting import Reporting
from .seen import open_files
from .seen.observer import order_of, roots_of
from .tried import deaths, failures, handlers
from .tried.feed import Feed
from .tried.inner import Inner, draw_seed, is_stream, unchanged_randomness

# Longest hold of the loop at each batch while a change waits for evidence, in seconds.
_EVIDENCE_SECONDS = 0.02


class LiveIterator(LikeTorch, OwnAgain):
    """One epoch of a watched loader. All inner loaders draw from one feed. After a change of setting, the previous
    loader delivers what it has drawn, and then the next one, whose workers have started meanwhile, delivers its own.
    """

    def __init__(self, loader, watched):
        self._loader = loader
        # Like torch's, it does not see what the script changes in the loader later.
        self._attributes = watched.attributes() or {**vars(loader), "_iterator": None}
        self._index_sampler = loader._index_sampler
        self._watched = watched
        self._reporting = Reporting(watched)
        self._seen = lists_kept()
        self._inners = []
        self.begin()

    def begin(self):
        """Begins an epoch, also a later one: with persistent workers torch has one iterator for all epochs."""
        began_ns = time.perf_counter_ns()
        for inner in self._inners:
            if not self._watched.persists(inner):
                deaths.end(inner)
        # Objects reachable when workers were added: later changes do not reach the workers.
        self._state = self._order = None
        # Time and indices of the loop's last batch, and the indices before.
        self._returned_ns = self._drawn = self._delivering = None
        self._is_first = True
        # Like torch's: batches of this epoch that the loop has got.
        self._num_yielded = 0
        # The oldest loader delivers; only the last one draws.
        self._inners, self._last = [], None
        self._guarded(self._prepare)
        self._inners.append(self._begin_epoch())
        self._watched.epochs += 1
        self._watched.is_new = False
        self._guarded(self._reporting.epoch, "begin", began_ns)

    @property
    def is_under_way(self):
        return bool(self._inners)

    def __next__(self):
        began_ns = time.perf_counter_ns()
        self._guarded(self._before, began_ns)
        batch = self._next_batch()
        self._guarded(self._after, batch, began_ns)
        return batch

    def _guarded(self, work, *arguments):
        """Errors of pinbench's own code must not reach the loop: pinbench steps aside, and the loop continues."""
        try:
            work(*arguments)
        except Exception as error:
            if handlers.has_raised(error):
                raise
            watched = self._watched
            watched.step_aside(error)
            self._state = None
            if not all(inner.is_own for inner in self._inners):
                self._take_back()
                self._pass_on()

    def _prepare(self):
        """Before an epoch: applies requests of pinbench."""
        handlers.remember()
        watched = self._watched
        watched.session.obey()
        asked = watched.asked
        if asked is not None and asked["atBatch"] <= watched.delivered:
            if watched.way_of(self._loader, asked["setting"]) == HANDED:
                watched.asked = None
                watched.setting, watched.change = asked["setting"], asked["change"]
                self._reporting.changed(asked["change"])
        if is_stream(self._loader) and watched.is_told:
            watched.files_at_epoch = open_files.positions()

    def _before(self, began_ns):
        handlers.remember()
        watched = self._watched
        if self._state is not None:
            self._see_changes()
        if not watched.is_told and watched.asked is None and watched.evidence is None:
            return
        if self._returned_ns is not None:
            watched.steps.append((began_ns - self._returned_ns) / 1e9)
        watched.session.obey()
        if watched.ends_at is not None and watched.ends_at <= watched.delivered:
            raise SystemExit(0)
        watched.gather(self._loader, self._is_first)
        asked = watched.asked
        if asked is not None and asked["atBatch"] <= watched.delivered:
            try:
                self._obey(asked)
            except BaseException:
                # The script may go on after its signal handler has raised an error.
                watched.asked = watched.asked or asked
                raise

    def _see_changes(self):
        """Refuses other workers if the loop changes objects that these copy."""
        if all(inner.setting["numWorkers"] == 0 for inner in self._inners):
            self._state = None
            return
        changed = self._order.changed() or self._state.changed()
        if changed is not None:
            self._refuse(evidence.LOOP_CHANGES % changed)

    def _after(self, batch, began_ns):
        watched = self._watched
        if self._state is not None and self._order.changed() is not None:
            # It ends by itself, as requested.
            self._order = order_of(self._loader)
        self._returned_ns = time.perf_counter_ns()
        if watched.evidence is not None:
            watched.evidence.after(self._drawn, batch, (self._returned_ns - began_ns) / 1e9)
        if watched.is_told:
            self._reporting.delivered(self._delivering, batch, began_ns, self._drawn)

    def _obey(self, asked):
        watched, setting = self._watched, asked["setting"]
        way = watched.way_of(self._loader, setting)
        if way is None:
            if watched.evidence is not None:
                watched.evidence.wait(_EVIDENCE_SECONDS)
            return
        watched.asked = None
        if way == DISCARDED and not watched.is_target:
            way = REFUSED  # the search is over
        if setting == self._inners[-1].setting:
            # The loader that makes batches now need not restart.
            self._reporting.flush()
            self._inners[-1].change = watched.change = asked["change"]
            self._reporting.changed(asked["change"])
        elif way == REFUSED:
            self._failed(asked["change"], watched.verdict.failure or failures.refusal(watched.verdict.reason or evidence.IN_THIS_PROCESS))
        elif way == DISCARDED:
            failed = Aside(self._loader, watched, self._reporting).run(asked, self._seen)
            self._returned_ns = None
            if failed is not None:
                self._failed(asked["change"], failed)
        else:
            self._change(asked)

    def _refuse(self, reason):
        """Workers were added but should not have been: undelivered batches are made again without them."""
        watched = self._watched
        change = self._inners[-1].change
        self._state = None
        self._take_back()
        verdict = Verdict(REFUSED, reason)
        if watched.verdict is None or watched.verdict.workers != REFUSED:
            watched.judge(verdict)
        self._failed(change, failures.refusal(reason))
        self._pass_on()

    def _take_back(self):
        """The script's own setting makes all undelivered batches again."""
        self._feed.give_back([drawn for inner in self._inners for drawn in inner.gate.outstanding])
        for inner in self._inners:
            deaths.end(inner, self._watched.patience.grace())
        own = self._start_own(self._feed)
        self._inners[:] = [own]
        self._watched.put_in_force(own, self, self._loader)
        own.open()

    def _begin_epoch(self):
        watched = self._watched
        feed = self._feed = Feed()
        self._guarded(self._draw_late)
        self._guarded(self._look_again)
        inner = watched.persisting(self) or self._inner(watched.setting, watched.change)
        self._guarded(self._look, inner)
        if watched.setting != inner.setting:
            inner = self._inner(watched.own, 0)
        if inner.is_own:
            inner.begin(feed)
        else:
            inner = self._begin_tried(inner, feed)
        watched.put_in_force(inner, self, self._loader)
        return inner

    def _draw_late(self):
        self._feed.ahead = Ahead(self._loader)

    def _begin_tried(self, inner, feed):
        """Leaves the generators as the script's own loader would, so that epochs are shuffled alike."""
        loader, own = self._loader, self._watched.own
        workers = own["numWorkers"]
        feed.indices = iter(loader._index_sampler)
        if self._watched.is_new or not own["persistentWorkers"]:
            draw_seed(loader)
            if workers > 0:
                # Like torch, once for the iterator and once for its workers.
                feed.indices = iter(loader._index_sampler)
        try:
            inner.start(feed)
            deaths.watch(inner)
        except Exception as error:
            told = failures.describe(error, inner, has_started=False)
            deaths.end(inner)
            if handlers.has_raised(error):
                raise
            self._failed(inner.change, told)
            inner = self._start_own(feed)
            if self._interruption is not None:
                deaths.end(inner)
                self._pass_on()
        if workers > 0:
            # torch asks the sampler before the loop does.
            self._catch_up(0)
            if feed.error is not None:
                deaths.end(inner)
                raise feed.take_error()
            inner.open()
        return inner

    def _inner(self, setting, change):
        watched = self._watched
        is_own = change == 0 or setting == watched.own
        return Inner(self._loader, setting, change, watched.session.folder, is_own, attributes=self._attributes)

    def _look_again(self):
        """Watches the objects copied by workers that persist although the script's would not: they must not miss a
        change.
        """
        watched = self._watched
        inner = watched.persisting(self)
        changed = None if inner is None or inner.is_own or inner.state is None else inner.state.changed()
        if changed is not None:
            watched.setting, watched.change = watched.own, 0
            watched.persisting(self)  # ends it
            self._failed(inner.change, failures.refusal(evidence.SCRIPT_CHANGES % changed))

    def _look(self, inner):
        """Before its workers start: notes the objects that they copy."""
        watched = self._watched
        if inner.is_own:
            if inner.iterator is None and inner.setting["numWorkers"] > 0 and watched.is_told:
                watched.forked = roots_of(self._loader)
        elif watched.own["numWorkers"] > 0 and inner.setting["persistentWorkers"] > watched.own["persistentWorkers"]:
            inner.state = inner.state or roots_of(self._loader)
        elif watched.own["numWorkers"] == 0 and inner.setting["numWorkers"] > 0:
            inner.state = inner.state or roots_of(self._loader)
            self._state = self._state or inner.state
            self._order = self._order or order_of(self._loader)

    def _change(self, asked):
        watched = self._watched
        inner = self._inner(asked["setting"], asked["change"])
        changed = None if watched.forked is None else watched.forked.changed()
        if changed is not None and inner.setting["numWorkers"] > 0:
            self._failed(asked["change"], failures.refusal(evidence.LOOP_CHANGED % changed))
            return
        self._look(inner)
        try:
            # The script's own iterator draws a seed when it begins an epoch, and this is not one.
            with unchanged_randomness(self._loader) if inner.is_own else contextlib.nullcontext():
                inner.start(self._feed)
        except Exception as error:
            told = failures.describe(error, inner, has_started=False)
            deaths.end(inner)
            if handlers.has_raised(error):
                raise
            self._failed(asked["change"], told)
            return
        deaths.watch(inner)
        self._inners[-1].close()
        self._inners.append(inner)
        watched.put_in_force(inner, self, self._loader)
        inner.open()
        self._reporting.changed(asked["change"])

    def _catch_up(self, coming=1):
        """Before batch `coming` of those that are not delivered yet: asks the sampler no later than the script's own
        setting, and has it draw its random numbers no earlier.
        """
        if not is_stream(self._loader):
            self._feed.catch_up(self._num_yielded + coming, self._watched.own)

    def _next_batch(self):
        if self._inners and not self._inners[-1].gate.is_own:
            self._guarded(self._catch_up)
        if self._is_first and self._inners and not self._inners[-1].gate.is_open:
            # Without workers torch asks the sampler now.
            self._inners[-1].open()
        while self._inners:
            inner = self._inners[0]
            try:
                batch = self._batch_of(inner)
            except StopIteration as end:
                # Of the data set, if batches are outstanding, and not the epoch's.
                if inner.gate.outstanding and self._falls_back(inner, end):
                    continue
                if inner.gate.outstanding and inner.is_own:
                    inner.gate.delivered()
                    raise
                if len(self._inners) > 1:
                    deaths.end(self._inners.pop(0), self._watched.patience.grace())
                    continue
                self._end_epoch()
                if self._feed.error is not None:
                    raise self._feed.take_error() from None
                raise
            except BaseException as error:
                if not isinstance(error, Exception) or handlers.has_raised(error):
                    if inner.setting["numWorkers"] == 0:
                        # The script's workers would have made it meanwhile, and without any torch forgets it.
                        inner.gate.interrupt(is_made_again=self._watched.own["numWorkers"] > 0)
                    raise
                if self._falls_back(inner, error):
                    continue
                inner.gate.delivered()
                raise
            self._drawn, self._delivering = inner.gate.delivered(), inner
            if self._watched.is_target and self._drawn is not None:
                self._seen.append(self._drawn)
            self._is_first = False
            self._num_yielded += 1
            self._watched.delivered += 1
            return batch
        raise StopIteration

    def _batch_of(self, inner):
        if inner.is_own:
            return deaths.next_of(inner)
        workers = inner.setting["numWorkers"]
        seconds = self._watched.patience.seconds(workers, not inner.has_begun)
        if workers > 0 and not inner.gate.outstanding and not is_stream(self._loader):
            return deaths.end_of(inner, self._watched.patience.grace())
        if workers > 0 or self._watched.own["numWorkers"] == 0:
            return deaths.next_of(inner, seconds)
        # The script's own workers would not draw here.
        with unchanged_randomness(self._loader):
            return deaths.next_of(inner, seconds)

    def _end_epoch(self):
        self._reporting.epoch("end", time.perf_counter_ns())
        last = self._inners[-1]
        if self._watched.own["numWorkers"] > 0 or last.setting["numWorkers"] == 0:
            # An iterator without workers would leave no descriptors of theirs open.
            self._last = last.iterator
        self._inners.clear()

    def _falls_back(self, inner, error):
        """If a batch fails under a tried setting, it and all undelivered batches are drawn again under the script's
        own. Memory, files or processes may be short, or the data set may work only outside or only inside a worker.
        Errors under the script's own setting are the script's. Not if the order is lost.
        """
        if inner.is_own or error is self._feed.error:
            return False
        if is_stream(self._loader) and not self._is_first:
            return False
        if not getattr(self._loader, "in_order", True):
            return False
        told = failures.describe(error, inner, has_started=True)
        # torch's frames hold the error: without this only the garbage collector would end this iterator.
        error.__traceback__ = None
        # A newer setting continues with what it has drawn, and remains in force.
        is_last = inner is self._inners[-1]
        feed = self._feed if is_last else Feed(iter(()))
        feed.give_back(inner.gate.outstanding)
        deaths.end(inner, 0 if isinstance(error, deaths.TookTooLong) else self._watched.patience.grace())
        own = self._start_own(feed)
        self._inners[0] = own
        if is_last:
            self._watched.put_in_force(own, self, self._loader)
        own.open()
        self._failed(inner.change, told)
        self._pass_on()
        return True

    def _failed(self, change, told):
        self._reporting.flush()
        self._watched.tell("failed", change=change, **told)
