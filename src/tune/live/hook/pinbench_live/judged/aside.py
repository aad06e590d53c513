"""Trials whose batches are discarded: the loop is held, and an imitation of it takes the batches."""

import collections
import statistics
import time

from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler

from ..tried import deaths, failures, handlers
from ..tried.feed import Feed
from ..tried.inner import Inner, is_stream, unchanged_randomness

# Longest time that the loop is held, in seconds.
_MOST_SECONDS = 10
# Interval of listening to pinbench while a step is imitated, in seconds.
_SLICE_SECONDS = 0.05
# A step this many times longer than the median one was something else, such as saving a checkpoint.
_OUTLIER = 10
# Samplers that can be asked for another epoch without side effects.
_HARMLESS = (RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler, DistributedSampler)


class Aside:
    """For one loader. `seen`: index lists of batches that it has made."""

    def __init__(self, loader, watched, reporting):
        self._loader = loader
        self._watched = watched
        self._reporting = reporting

    def run(self, asked, seen):
        """Runs until pinbench asks for something else. Returns the fields of a failure, or None."""
        inner = Inner(self._loader, asked["setting"], asked["change"], self._watched.session.folder)
        inner.is_discarded = True
        grace = self._watched.patience.grace()
        with unchanged_randomness(self._loader, *_generators_of(self._loader._index_sampler)):
            try:
                self._start(inner, Feed(self._lists(seen)))
                self._reporting.changed(asked["change"])
                self._imitate(inner)
            except Exception as error:
                if handlers.has_raised(error):
                    raise
                grace = 0 if isinstance(error, deaths.TookTooLong) else grace
                return failures.describe(error, inner, has_started=inner.iterator is not None)
            finally:
                # Reported before the workers end, because pinbench inspects them.
                self._reporting.flush()
                deaths.end(inner, grace)
        return None

    def _start(self, inner, feed):
        inner.start(feed)
        deaths.watch(inner)
        inner.open()

    def _imitate(self, inner):
        watched, workers = self._watched, inner.setting["numWorkers"]
        step = step_seconds(watched.steps)
        end = time.monotonic() + _MOST_SECONDS
        while time.monotonic() < end:
            began_ns = time.perf_counter_ns()
            try:
                deaths.next_of(inner, watched.patience.seconds(workers, not inner.has_begun))
            except StopIteration:
                if not inner.has_begun:
                    return
                # A stream starts from its beginning.
                deaths.end(inner)
                self._start(inner, Feed(iter(())))
                continue
            inner.gate.delivered()
            self._reporting.delivered(inner, None, began_ns)
            if self._is_over() or not self._pause(step):
                return

    def _pause(self, seconds):
        """False if pinbench asked for something else before it was over."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, _SLICE_SECONDS))
            if left > _SLICE_SECONDS and self._is_over():
                return False

    def _is_over(self):
        watched = self._watched
        watched.session.obey()
        return watched.asked is not None or not watched.is_target

    def _lists(self, seen):
        """Endless index lists: of epochs without training, or of `seen`."""
        while not is_stream(self._loader):
            if is_harmless(self._loader._index_sampler):
                yield from iter(self._loader._index_sampler)
            elif seen:
                yield from list(seen)
            else:
                return


def _generators_of(sampler):
    """Random generators of a harmless sampler, which is asked for epochs without training."""
    if type(sampler) is BatchSampler:
        return _generators_of(sampler.sampler)
    own = sampler.generator if type(sampler) in _HARMLESS and hasattr(sampler, "generator") else None
    return () if own is None else (own,)


def is_harmless(sampler):
    """Whether asking it for another epoch changes nothing for the script."""
    if type(sampler) is BatchSampler:
        return is_harmless(sampler.sampler)
    return type(sampler) in _HARMLESS


def draws_in_portions(sampler):
    """Whether it draws from the script's generator again after some batches, instead of once for the whole epoch at its
    beginning.
    """
    if type(sampler) is BatchSampler:
        return draws_in_portions(sampler.sampler)
    if type(sampler) is not RandomSampler or sampler.generator is None:
        return False
    return sampler.replacement or sampler.num_samples > len(sampler.data_source)


def step_seconds(steps):
    """The mean without outliers."""
    if not steps:
        return 0
    most = _OUTLIER * statistics.median(steps)
    return statistics.fmean(step for step in steps if step <= most)


def lists_kept():
    """For `seen` of run()."""
    return collections.deque(maxlen=256)
