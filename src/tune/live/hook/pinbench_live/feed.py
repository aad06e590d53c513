"""The common source of batch indices for all inner loaders of one epoch."""

import collections


class Feed:
    """The user's own batch sampler (or sampler without batching) over one epoch."""

    def __init__(self, indices=None):
        self.indices = indices
        # The sampler's own error; it cannot be asked again.
        self.error = None
        self._given_back = collections.deque()

    def draw(self):
        """The next batch's indices; raises StopIteration at the epoch's end, and if the sampler fails: see `error`."""
        if self._given_back:
            return self._given_back.popleft()
        if self.error is not None:
            raise StopIteration
        try:
            return next(self.indices)
        except StopIteration:
            raise
        except Exception as error:
            self.error = error
        raise StopIteration

    def draw_ahead(self, count):
        """Asks the sampler for this many now, for later use."""
        drawn = []
        try:
            for _ in range(count):
                drawn.append(next(self.indices))
        except StopIteration:
            pass
        self._given_back.extend(drawn)

    def give_back(self, drawn):
        """Takes back what an inner loader has drawn and will not deliver, to be drawn next."""
        self._given_back.extendleft(reversed(drawn))


class Gate:
    """The sampler of one inner loader, which draws from the feed while open. When closed it looks like the end of an
    epoch, and the loader delivers what it has drawn.
    """

    def __init__(self, sampler):
        self.is_open = False
        # Drawn but not delivered yet, in order.
        self.outstanding = collections.deque()
        self._sampler = sampler
        self._feed = None
        self._is_own = False

    def connect(self, feed):
        """Closed at the start of each epoch."""
        self.is_open = self._is_own = False
        self.outstanding.clear()
        self._feed = feed

    def follow(self, feed):
        """Opens it; the sampler is asked exactly when torch would ask it."""
        self.connect(feed)
        self.is_open = self._is_own = True

    def delivered(self):
        """Called when its oldest batch has reached the loop; returns the indices, None for a stream."""
        return self.outstanding.popleft() if self.outstanding else None

    def __iter__(self):
        if self._is_own:
            self.outstanding.clear()
            self._feed.indices = iter(self._sampler)
        return self

    def __next__(self):
        if not self.is_open:
            raise StopIteration
        indices = next(self._feed.indices) if self._is_own else self._feed.draw()
        self.outstanding.append(indices)
        return indices

    def __len__(self):
        return len(self._sampler)
