"""A Dataset, and the settings of a DataLoader on it."""

from torch.utils.data import BatchSampler, DataLoader, IterableDataset, default_collate

from ..faults.refusal import Refusal
from ..worker_start import WorkerStart
from .endless import EndlessIterable, EndlessSampler, is_plain_shuffle, repeated_epochs, shuffled_epochs

# Settings taken from a given DataLoader, besides those that choose a batch's samples.
_TAKEN_OVER = ("collate_fn", "generator", "pin_memory_device", "in_order")
_WITH_WORKERS_ONLY = ("timeout", "multiprocessing_context")


class _BatchOfSamples:
    """The collate function of a loader that has batch_size=None takes one sample; this one takes a list of them.
    Picklable if the loader's is.
    """

    def __init__(self, of_sample):
        self._of_sample = of_sample

    def __call__(self, samples):
        return default_collate([self._of_sample(sample) for sample in samples])


def _is_unbatched(loader):
    return loader.batch_size is None and loader.batch_sampler is None


class Source:
    def __init__(self, made, batch_size, scratch):
        self._scratch = scratch
        given = made if isinstance(made, DataLoader) else None
        self.given = given
        self.dataset = made if given is None else given.dataset
        self.is_iterable = isinstance(self.dataset, IterableDataset)
        self._notes = []
        self._arguments = {}
        self._with_workers = {}
        if given is not None:
            for name in _TAKEN_OVER + _WITH_WORKERS_ONLY:
                value = getattr(given, name, None)
                if value is not None and value != "":
                    kept = self._with_workers if name in _WITH_WORKERS_ONLY else self._arguments
                    kept[name] = value
        self._init_fn = None if given is None else given.worker_init_fn
        if given is not None and _is_unbatched(given) and batch_size is not None:
            self._arguments["collate_fn"] = _BatchOfSamples(given.collate_fn)
        self._arguments.update(self._what_makes_a_batch(given, batch_size))
        self.batch_size = self._arguments.get("batch_size")
        # Number of tensors in a batch, from the first one, for counting batches.
        self.tensors = 1
        self._looped = EndlessIterable(self.dataset) if self.is_iterable else self.dataset

    def _what_makes_a_batch(self, given, batch_size):
        if given is None and batch_size is None:
            raise Refusal(
                "usage", "A Dataset alone does not say how large a batch is.", "Give the training's with --batch-size."
            )
        own_batches = given is not None and given.batch_sampler is not None and given.batch_size is None
        if own_batches and batch_size is not None:
            raise Refusal(
                "usage", "The DataLoader has a batch_sampler of its own, which sets the size of batches.",
                "Leave out --batch-size.",
            )
        if own_batches:
            return {"batch_sampler": EndlessSampler(repeated_epochs(given.batch_sampler))}
        chosen = {"batch_size": batch_size if batch_size is not None else given.batch_size}
        if given is not None and chosen["batch_size"] is not None:
            chosen["drop_last"] = given.drop_last
        if self.is_iterable:
            return chosen
        chosen["batch_size"] = self._as_an_epoch_has_it(chosen["batch_size"], chosen.get("drop_last"))
        if given is None or is_plain_shuffle(given):
            epochs = shuffled_epochs(len(self.dataset))
        else:
            epochs = repeated_epochs(given.sampler)
        chosen["sampler"] = EndlessSampler(epochs)
        return chosen

    def _as_an_epoch_has_it(self, batch_size, drops_last):
        """The batch size, or the size of a smaller epoch, because endless data would put several epochs into a batch.
        """
        samples = self._epoch_samples()
        if not samples or batch_size is None or samples >= batch_size:
            return batch_size
        has = "1 sample" if samples == 1 else "%d samples" % samples
        if drops_last:
            raise Refusal(
                "usage", "An epoch has %s, which with drop_last make no batch of %d." % (has, batch_size),
                "Make batches smaller, or leave out drop_last.",
            )
        self._notes.append("An epoch has %s, so batches have that many instead of %d." % (has, batch_size))
        return samples

    def _epoch_samples(self):
        try:
            return len(self.dataset if self.given is None else self.given.sampler)
        except (TypeError, NotImplementedError, AttributeError):
            return None

    def loader(self, workers, pin_memory=False, prefetch_factor=None, persistent_workers=False):
        arguments = dict(self._arguments, num_workers=workers, pin_memory=pin_memory)
        if workers > 0:
            arguments.update(self._with_workers, persistent_workers=persistent_workers)
            arguments["worker_init_fn"] = WorkerStart(self._init_fn, self._scratch, self.is_iterable)
            if prefetch_factor is not None:
                arguments["prefetch_factor"] = prefetch_factor
        return DataLoader(self._looped, **arguments)

    def epoch_batches(self):
        """None if unknown, as for iterable data."""
        if self.is_iterable:
            return None
        if self.batch_size is None:
            try:
                return len(self.given)
            except (TypeError, NotImplementedError, AttributeError):
                return None
        samples = self._epoch_samples()
        if samples is None:
            return None
        whole, rest = divmod(samples, self.batch_size)
        return whole + (1 if rest and not self._arguments.get("drop_last") else 0)

    def starting_point(self):
        loader = self.given
        if loader is None:
            return None
        return {
            "numWorkers": loader.num_workers,
            "pinMemory": bool(loader.pin_memory),
            "prefetchFactor": loader.prefetch_factor if loader.num_workers > 0 else None,
            "persistentWorkers": bool(loader.persistent_workers),
            # A loader does not say how its batches are copied.
            "nonBlocking": False,
        }

    def notes(self):
        notes = list(self._notes)
        if self.given is not None and type(self.given) is not DataLoader:
            notes.append("%s is measured as torch's own DataLoader with its settings." % type(self.given).__name__)
        if self.given is not None and type(self.given.batch_sampler) not in (type(None), BatchSampler):
            notes.append("Batches are chosen by the DataLoader's own %s." % type(self.given.batch_sampler).__name__)
        return notes
