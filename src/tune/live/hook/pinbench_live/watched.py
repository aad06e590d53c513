"""What is known of one loader of the script, over all its epochs."""

import collections
import weakref

from . import deaths, facts
from .inner import is_stream, own_setting
from .patience import Patience
from .verdict import way_of

# Of the loop's steps, to imitate them.
_STEPS = 64


def _none():
    return None


class Watched:
    """`strangeness`: why it cannot be tuned at all, None where it can."""

    def __init__(self, loader, session, strangeness):
        self.session = session
        self.is_untouched = strangeness is not None
        # Whether pinbench wants to be told of its batches.
        self.is_told = not self.is_untouched
        # Whether pinbench has chosen it to be tuned, and has not ended that.
        self.is_target = False
        # Of how many batches delivered the last one is: the process is to end then.
        self.ends_at = None
        # The change that pinbench asks for and that has not been made yet.
        self.asked = None
        self.own = own_setting(loader)
        # Which settings it may be given: an Evidence gathers that, a Verdict is what it comes to.
        self.evidence = self.verdict = None
        self.patience = Patience()
        # Seconds that the loop took from one batch to the next, beside waiting for it.
        self.steps = collections.deque(maxlen=_STEPS)
        # What could be reached as the script's own workers were forked, and files that were open as an epoch began.
        self.forked = None
        self.files_at_epoch = {}
        # With which the next epoch begins, and the number of the change that brought it.
        self.setting, self.change = self.own, 0
        # The loop's last iterator of it, for as long as that is there.
        self.iterator = _none
        # The inner loader whose workers persist from one epoch to the next, however the epoch ends.
        self._persisting = None
        # What its first batch holds, until that is told.
        self.contents = None
        # Of all epochs: batches that the loop got, and how often it began.
        self.delivered = 0
        self.epochs = 0
        self.number = session.add(self)
        session.tell(
            "loader",
            loader=self.number,
            setting=self.own,
            source=facts.source(loader),
            batchSize=facts.batch_size(loader),
            epochBatches=facts.length(loader),
            framework=facts.framework(),
            untouchable=strangeness,
        )

    def tell(self, kind, /, **fields):
        if self.is_told:
            self.session.tell(kind, loader=self.number, **fields)

    def way_of(self, loader, setting):
        """What becomes of the batches of a setting; None while that is not known."""
        return way_of(setting, loader, self.own, self.verdict)

    def judge(self, verdict):
        """From now on `verdict` holds."""
        self.verdict = verdict
        self.tell(
            "safety",
            workers=verdict.workers,
            reason=verdict.reason,
            withoutWorkers=verdict.without_workers,
        )

    def step_aside(self, error):
        """Something of pinbench's own has failed: the script's loader is the script's from now on."""
        self.asked, self.setting, self.change = None, self.own, 0
        self.is_untouched = True
        gathering, self.evidence = self.evidence, None
        try:
            if gathering is not None:
                gathering.end()
            self.tell("aside", message="%s: %s" % (type(error).__name__, str(error)[:300]))
        finally:
            self.is_told = self.is_target = False

    def end(self):
        """The script has let go of its loader: the workers that persist end with it, as torch's do."""
        gathering, self.evidence, self.forked = self.evidence, None, None
        if gathering is not None:
            gathering.end()
        inner, self._persisting = self._persisting, None
        if inner is not None:
            deaths.end(inner)

    def put_in_force(self, inner, user):
        """From now on epochs begin with its setting, and with its workers where these persist. `user`: the iterator that has it."""
        inner.user = weakref.ref(user)
        self.setting, self.change = inner.setting, inner.change
        self._persisting = inner if inner.setting["persistentWorkers"] else None

    def persists(self, inner):
        """Whether it begins the next epoch as well."""
        return inner is self._persisting

    def persisting(self, user):
        """The inner loader to begin an epoch with, where one has persisted under the setting in force. Its batches may still
        be another iterator's of the loop than `user`.
        """
        inner = self._persisting
        if inner is None:
            return None
        other = inner.user()
        is_used = other is not None and other is not user and other.is_under_way
        if inner.setting != self.setting or is_used and not inner.is_own:
            self._persisting = None
            if not is_used:
                inner.end()
            return None
        return inner
