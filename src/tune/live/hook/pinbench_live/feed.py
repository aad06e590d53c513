"""Where the inner loaders of one epoch get the indices of their batches from: all of them from one iterator."""

import collections


class Feed:
    """The user's own batch sampler (or sampler, where there is no batching) over one epoch."""

    def __init__(self, indices):
        self.indices = indices
        # What the sampler itself has raised; it cannot be asked again.
        self.error = None
        self._given_back = collections.deque()

    def draw(self):
        """The next batch's indices; raises StopIteration at the epoch's end."""
        if self._given_back:
            return self._given_back.popleft()
        try:
            return next(self.indices)
        except StopIteration:
            raise
        except Exception as error:
            self.error = error
            raise

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

    def connect(self, feed):
        """Closed at first, for a new epoch or the first one."""
        self.is_open = False
        self.outstanding.clear()
        self._feed = feed

    def delivered(self):
        """The oldest of what it has drawn has reached the loop; returns it, None of a stream."""
        return self.outstanding.popleft() if self.outstanding else None

    def __iter__(self):
        return self

    def __next__(self):
        if not self.is_open:
            raise StopIteration
        indices = self._feed.draw()
        self.outstanding.append(indices)
        return indices

    def __len__(self):
        return len(self._sampler)
