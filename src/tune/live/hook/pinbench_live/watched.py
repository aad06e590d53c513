"""What is known of one loader of the script, over all its epochs."""

from . import facts
from .inner import is_stream, own_setting


class Watched:
    """`strangeness`: why it cannot be tuned at all, None where it can."""

    def __init__(self, loader, session, strangeness):
        self.session = session
        self.is_untouched = strangeness is not None
        # Whether pinbench wants to be told of its batches.
        self.is_told = not self.is_untouched
        # The change that pinbench asks for and that has not been made yet.
        self.asked = None
        self.own = own_setting(loader)
        # With which the next epoch begins, and the number of the change that brought it.
        self.setting, self.change = self.own, 0
        # The inner loader whose workers persist from one epoch to the next, however the epoch ends.
        self._persisting = None
        # What its first batch holds, until that is told.
        self.contents = None
        # Of all epochs: batches that the loop got, and how often it began.
        self.delivered = 0
        self.epochs = 0
        self.number = session.add(self)
        fixed = "its IterableDataset says itself what comes next" if is_stream(loader) else None
        session.tell(
            "loader",
            loader=self.number,
            setting=self.own,
            source=facts.source(loader),
            batchSize=facts.batch_size(loader),
            epochBatches=facts.length(loader),
            fixed=fixed,
            untouchable=strangeness,
        )

    def tell(self, kind, /, **fields):
        if self.is_told:
            self.session.tell(kind, loader=self.number, **fields)

    def put_in_force(self, inner):
        """From now on epochs begin with its setting, and with its workers where these persist."""
        self.setting, self.change = inner.setting, inner.change
        self._persisting = inner if inner.setting["persistentWorkers"] else None

    def persisting(self):
        """The inner loader to begin an epoch with, where one has persisted under the setting in force."""
        inner = self._persisting
        if inner is not None and inner.setting != self.setting:
            self._persisting = None
            inner.end()
            return None
        return inner
