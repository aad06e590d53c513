"""What scripts and frameworks see of the iterator besides its batches."""

from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

_KINDS = (_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter)


class LikeTorch:
    """Has `_loader`, `_watched` and `_inners`, of which the last one makes the batches."""

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
        # Some frameworks use attributes of torch's iterator.
        if name.startswith("__") or not self.__dict__.get("_inners"):
            raise AttributeError(name)
        return getattr(self._inners[-1].iterator, name)
