"""Where the inner loaders of one epoch get the indices of their batches from: all of them from one iterator."""

import collections


class Feed:
    """The user's own batch sampler (or sampler, where there is no batching) over one epoch."""

    def __init__(self, indices=None):
        self.indices = indices
        # What the sampler itself has raised; it cannot be asked again.
        self.error = None
        self._given_back = collections.deque()

    def draw(self):
        """The next batch's indices; raises StopIteration at the epoch's end, and where the sampler fails: see `error`."""
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
        """Has the sampler asked for so many now, which come later."""
        drawn = []
        try:
            for _ in range(count):
                drawn.append(next(self.indices))
        except StopIteration:
            pass
        self._given_back.extend(drawn)

    def give_back(self, drawn):
        """What an inner loader has drawn and will not deliver is the next to be drawn again."""
        self._given_back.extendleft(reversed(drawn))


class Gate:
    """The sampler of one inner loader: draws from the feed while it is open. Closed it looks like an epoch's end, and
    the loader delivers what it has drawn.
    """

    def __init__(self, sampler):
        self.is_open = False
        # What was drawn and not delivered yet, in order.
        self.outstanding = collections.deque()
        self._sampler = sampler
        self._feed = None
        self._is_own = False

    def connect(self, feed):
        """Closed at first, for a new epoch or the first one."""
        self.is_open = self._is_own = False
        self.outstanding.clear()
        self._feed = feed

    def follow(self, feed):
        """Open, and the sampler is asked just where torch would ask it."""
        self.connect(feed)
        self.is_open = self._is_own = True

    def delivered(self):
        """The oldest of what it has drawn has reached the loop; returns it, None of a stream."""
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
