"""Evidence on whether more workers would harm the job, from a few of the script's own batches."""

import weakref

from ..probe import probe_module
from ..seen import open_files
from ..seen.observer import Observer, order_of, roots_of
from ..tried.inner import forks, is_stream
from .aside import draws_in_portions, is_harmless
from .comparison import Comparison, digest, opaque
from .verdict import DISCARDED, HANDED, REFUSED, Verdict

generators = probe_module("generators")
making = probe_module("making")

_BATCHES = 3

_OPENED_IN_WORKERS = "Open it in each worker, in worker_init_fn or at its first use there"
_MOVES = "making a batch moves the position in a file that is open already (%s), which forked workers would share. "
_HOLDS = "the data set holds a %s that is open already (%s), which forked workers would share. "
_UNSHARDED = (
    "an IterableDataset that does not shard would deliver each sample once per worker: split them by "
    "torch.utils.data.get_worker_info()"
)
_STREAM = "an IterableDataset has its batches cut in each worker, so that they would be others"
LOOP_CHANGES = "the training loop changes %s between two batches, and workers have copies of their own"
SCRIPT_CHANGES = "the script changes %s between two epochs, which workers that persist do not see"
LOOP_CHANGED = "the training loop changes %s after its workers have started, which others would see too early"
IN_THIS_PROCESS = "whether making batches would change something for the training process could not be shown"
_RANDOM = "making batches draws random numbers in the training process, and workers draw others"
_SAMPLER = "the sampler draws random numbers batch by batch, and more workers have it draw earlier"
_KEEPS = "the sampler changes %s when it is asked for a batch, and more workers ask it earlier"
_CHANGES = "making a batch changes %s, of which workers have copies of their own"
_ITERATES = "the data set holds an iterator (%s), of which workers would have copies of their own"
_OPAQUE = "batches hold objects of the type %s, which cannot be compared with those of another process"
_DIFFERS = "a worker made other batches of the same indices than the script's own setting"


class Evidence:
    """Gathered around each next() of the script's own setting, and then from a worker that makes the same batches."""

    def __init__(self, loader, watched):
        self.verdict = None
        # A weak reference: the script's persistent workers end when it drops the loader.
        self._loader_of = weakref.ref(loader)
        self._watched = watched
        self._is_stream = is_stream(loader)
        self._is_made_here = watched.own["numWorkers"] == 0
        self._drawn, self._digests = [], []
        self._files = self._moved = self._states = self._reachable = self._order = self._opaque = None
        self._draws = draws_in_portions(loader._index_sampler)
        self._is_random = False
        # What the sampler keeps of the batches that it was asked for.
        self._asked = self._keeps = None
        self._changed = None
        self._observer = None
        self._comparison = None

    @property
    def _loader(self):
        """Present while it is iterated."""
        return self._loader_of()

    def before(self, is_first):
        """Called when the loop asks for a batch; `is_first` of an epoch."""
        if self._comparison is not None:
            if self._comparison.poll():
                self._conclude()
            return
        changed = None
        if self._reachable is not None:
            # Between two epochs the script may change things.
            changed = None if is_first else self._order.changed() or self._reachable.changed()
        if changed is not None:
            self.verdict = Verdict(REFUSED, LOOP_CHANGES % changed)
            return
        self._states = None if is_first else self._random_states()
        self._asked = None if is_first or is_harmless(self._loader._index_sampler) else order_of(self._loader)
        if self._is_made_here:
            self._files = open_files.positions()
            self._observer = Observer(self._loader.dataset)
            making.observe(self._observer)
        elif self._files is None:
            self._files = open_files.positions()

    def after(self, drawn, batch, seconds):
        """Called with a batch's indices (None for a stream) and its duration."""
        making.observe(None)
        if self._files is None or self._comparison is not None:
            return
        self._watched.patience.made(seconds)
        self._see_files()
        if self._states is not None:
            self._draws |= generators.have_moved(self._states, self._random_states())
        if self._asked is not None:
            held = (name for kind, name in self._asked.held if kind == "iterator")
            self._keeps = self._keeps or self._asked.changed() or next(held, None)
            self._draws |= self._asked.has_drawn()
        if self._is_made_here:
            self._see_making()
        self._drawn.append(drawn)
        self._digests.append(digest(batch))
        self._opaque = self._opaque or opaque(batch)
        if len(self._drawn) == _BATCHES:
            self._judge()

    def wait(self, seconds):
        """Waits for the worker, if there is one: the loop is held, but no longer than this."""
        if self._comparison is not None:
            self._comparison.wait(seconds)

    def end(self):
        making.observe(None)
        if self._comparison is not None:
            self._comparison.end()

    def _random_states(self):
        own = getattr(self._loader, "generator", None)
        return generators.states(*() if own is None else (own,))

    def _see_files(self):
        now = open_files.positions()
        # Workers open for themselves the files that a stream opens for each epoch.
        before = self._files
        if self._is_stream:
            known = self._watched.files_at_epoch
            before = {fd: found for fd, found in before.items() if fd in known and known[fd][1] == found[1]}
        self._moved = self._moved or open_files.moved(before, now)
        self._files = now

    def _see_making(self):
        seen = self._observer
        if seen.error is not None:
            raise seen.error
        self._is_random |= seen.is_random
        # A first batch may open files and fill caches.
        if self._drawn:
            self._changed = self._changed or seen.first_changed
        self._reachable = roots_of(self._loader)
        self._order = order_of(self._loader)

    def _judge(self):
        watched = self._watched
        reason = self._why_unshared() if forks(self._loader) else None
        if reason is None and not self._is_made_here and not self._is_stream and watched.forked is not None:
            changed = watched.forked.changed()
            reason = None if changed is None else LOOP_CHANGED % changed
        if reason is not None:
            self.verdict = Verdict(REFUSED, reason)
            return
        self._comparison = Comparison(self._loader, watched, self._drawn)

    def _why_unshared(self):
        if self._moved is not None:
            return _MOVES % self._moved + _OPENED_IN_WORKERS
        # If workers were forked already, problems of sharing show by themselves.
        if self._is_made_here:
            for kind, name in roots_of(self._loader).held:
                if kind != "iterator":
                    return _HOLDS % (kind, name) + _OPENED_IN_WORKERS
        return None

    def _conclude(self):
        compared = self._comparison
        if compared.failure is not None:
            message = compared.failure["message"].rstrip(".")
            self.verdict = Verdict(REFUSED, "workers fail: %s" % message, compared.failure)
        elif self._is_stream:
            self.verdict = self._of_stream(compared)
        else:
            reason = self._why_different(compared)
            seen = compared.seen or {}
            matters = self._draws or self._keeps is not None
            is_pristine = seen != {} and not (seen["first_changed"] or seen["changed"] or seen["opened"] or matters)
            way = HANDED if reason is None else DISCARDED
            self.verdict = Verdict(way, reason, without_workers=is_pristine, ahead_matters=matters)

    def _of_stream(self, compared):
        is_random = self._is_random or compared.seen is None or compared.seen["is_random"]
        init_fn = getattr(self._loader.worker_init_fn, "__code__", None)
        mentions = _looks_at_workers(self._loader.dataset) or _names_worker(init_fn)
        copies = compared.sample_copies
        # A few single samples prove nothing.
        is_told = copies is not None and self._loader.batch_size is not None and not is_random
        if copies is not None and copies > 1 or not is_told and not mentions:
            return Verdict(REFUSED, _UNSHARDED)
        return Verdict(DISCARDED, _STREAM)

    def _why_different(self, compared):
        """Why workers' batches differ from the script's own; None if nothing shows it."""
        if self._keeps is not None:
            return _KEEPS % self._keeps
        if not self._is_made_here:
            if self._draws:
                return _SAMPLER
            is_random = compared.seen is None or compared.seen["is_random"]
            return None if is_random or compared.digests == self._digests else _DIFFERS
        if self._is_random:
            return _RANDOM
        if self._draws:
            return _SAMPLER
        if self._changed is not None:
            return _CHANGES % self._changed
        for kind, name in roots_of(self._loader).held:
            if kind == "iterator":
                return _ITERATES % name
        if self._opaque is not None:
            return _OPAQUE % self._opaque
        return None if compared.digests == self._digests else _DIFFERS


def _looks_at_workers(dataset, depth=4):
    """Whether the code of an IterableDataset, or of its sources, uses torch's get_worker_info."""
    for kind in type(dataset).__mro__:
        if kind.__module__.startswith("torch.utils.data.dataset") or kind is object:
            continue
        if any(_names_worker(getattr(value, "__code__", None)) for value in vars(kind).values()):
            return True
    inner = vars(dataset).values() if depth > 0 and hasattr(dataset, "__dict__") else ()
    return any(_looks_at_workers(each, depth - 1) for each in list(inner) if hasattr(type(each), "__iter__") and hasattr(each, "__dict__"))


def _names_worker(code):
    if code is None:
        return False
    return "get_worker_info" in code.co_names or any(_names_worker(each) for each in code.co_consts if hasattr(each, "co_names"))
