"""The common source of batch indices for all inner loaders of one epoch."""

import collections


class Feed:
    """The user's own batch sampler (or sampler without batching) over one epoch."""

    def __init__(self, indices=None):
        self.indices = indices
        # The sampler's own error; it cannot be asked again.
        self.error = None
        # For random numbers that it draws too early; None leaves them so.
        self.ahead = None
        # How often the sampler was asked, and how often the script's own setting would have asked by now.
        self._asked = self._own_asked = 0
        self._given_back = collections.deque()

    def ask(self):
        """Asks the sampler, as the script's own setting does at the same time."""
        self._asked += 1
        return next(self.indices)

    def draw(self):
        """The next batch's indices; raises StopIteration at the epoch's end, and if the sampler fails: see `error`."""
        if self._given_back:
            return self._given_back.popleft()
        if self.error is not None:
            raise StopIteration
        try:
            if self.ahead is None or self._asked < self._own_asked:
                return self.ask()
            self._asked += 1
            return self.ahead.draw(self._asked, self.indices)
        except StopIteration:
            raise
        except Exception as error:
            self.error = error
        raise StopIteration

    def catch_up(self, number, own):
        """The loop waits for batch `number`: does now what the script's own setting would have done by now."""
        self._own_asked = number + own["numWorkers"] * (own["prefetchFactor"] or 0)
        if self.ahead is not None:
            self.ahead.catch_up(self._own_asked)
        try:
            while own["numWorkers"] > 0 and self._asked < self._own_asked and self.error is None:
                self._given_back.append(self.ask())
        except StopIteration:
            pass
        except Exception as error:
            self.error = error

    def take_error(self):
        """The sampler's error for the loop. Its traceback holds this feed: if both held each other, only the garbage
        collector would end the workers.
        """
        error, self.error, self.indices = self.error, None, iter(())
        return error

    def give_back(self, drawn):
        """Takes back what an inner loader has drawn and will not deliver, to be drawn next."""
        self._given_back.extendleft(reversed(drawn))


class Gate:
    """The sampler of one inner loader, which draws from the feed while open. When closed it looks like the end of an
    epoch, and the loader delivers what it has drawn.
    """

    def __init__(self, sampler):
        self.is_open = False
        # Whether the script's own setting asks the sampler, instead of the feed.
        self.is_own = False
        # Drawn but not delivered yet, in order.
        self.outstanding = collections.deque()
        self._sampler = sampler
        self._feed = None

    def connect(self, feed):
        """Closed at the start of each epoch."""
        self.is_open = self.is_own = False
        self.outstanding.clear()
        self._feed = feed

    def follow(self, feed):
        """Opens it; the sampler is asked exactly when torch would ask it."""
        self.connect(feed)
        self.is_open = self.is_own = True

    def delivered(self):
        """Called when its oldest batch has reached the loop; returns the indices, None for a stream."""
        return self.outstanding.popleft() if self.outstanding else None

    def interrupt(self, is_made_again):
        """Called when something has ended the making of its batches in this process."""
        drawn = list(self.outstanding)
        self.outstanding.clear()
        if is_made_again and not self.is_own:
            self._feed.give_back(drawn)

    def __iter__(self):
        if self.is_own:
            self.outstanding.clear()
            self._feed.indices = iter(self._sampler)
        return self

    def __next__(self):
        if not self.is_open:
            raise StopIteration
        indices = self._feed.ask() if self.is_own else self._feed.draw()
        self.outstanding.append(indices)
        return indices

    def __len__(self):
        return len(self._sampler)
