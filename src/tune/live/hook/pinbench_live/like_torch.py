"""What scripts and frameworks see of the iterator besides its batches."""

from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

_KINDS = (_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter)


class LikeTorch:
    """Has `_loader`, `_watched`, `_inners`, of which the last one makes the batches, and `_last`, the iterator that did so
    when all were delivered.
    """

    def __iter__(self):
        return self

    @property
    def __class__(self):
        # Scripts ask for torch's types.
        return _KINDS[self._watched.own["numWorkers"] > 0]

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)

    def __len__(self):
        return len(self._loader._index_sampler)

    def __getattr__(self, name):
        # Some frameworks use attributes of torch's iterator, also after its last batch.
        inners = self.__dict__.get("_inners")
        iterator = inners[-1].iterator if inners else self.__dict__.get("_last")
        if name.startswith("__") or iterator is None:
            raise AttributeError(name)
        if name == "_shutdown_workers" and self._watched.own["numWorkers"] > 0:
            return self._shutdown_of(iterator)
        return getattr(iterator, name)

    def _shutdown_of(self, iterator):
        """Workers that only a tried setting lets persist are not the script's to end, and it may have none."""
        has_ended = not self._inners and not self._watched.own["persistentWorkers"]
        return _nothing if has_ended else getattr(iterator, "_shutdown_workers", _nothing)


def _nothing():
    pass
