"""The record of one loader of the script, over all its epochs."""

import collections
import weakref

from . import facts
from .judged.evidence import Evidence
from .judged.verdict import way_of
from .patience import Patience
from .tried import deaths
from .tried.inner import is_stream, own_setting

# Number of the loop's steps that are kept for imitating them.
_STEPS = 64


def _none():
    return None


class Watched:
    """`strangeness`: why it cannot be tuned; None if it can."""

    def __init__(self, loader, session, strangeness):
        self.session = session
        self.is_untouched = strangeness is not None
        # Whether pinbench wants reports on its batches.
        self.is_told = not self.is_untouched
        # Whether pinbench is tuning it.
        self.is_target = False
        # The process ends after this many delivered batches.
        self.ends_at = None
        # The requested change that has not been made yet.
        self.asked = None
        self.own = own_setting(loader)
        # The permitted settings: an Evidence gathers facts on them and ends in a Verdict.
        self.evidence = self.verdict = None
        self.patience = Patience()
        # Seconds between batches without the wait for them.
        self.steps = collections.deque(maxlen=_STEPS)
        # Objects reachable when the script's workers were forked, and files open when an epoch began.
        self.forked = None
        self.files_at_epoch = {}
        # The setting of the next epoch, and the number of its change.
        self.setting, self.change = self.own, 0
        # The loop's last iterator of it, while that exists.
        self.iterator = _none
        # The inner loader whose workers persist between epochs, however an epoch ends.
        self._persisting = None
        # Facts on its first batch, until they are reported.
        self.contents = None
        # Over all epochs: batches of the loop, and number of epochs.
        self.delivered = 0
        self.epochs = 0
        # Whether its next epoch is the first one of the script's workers, if these persist.
        self.is_new = True
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
        """The use of a setting's batches; None while unknown."""
        return way_of(setting, loader, self.own, self.verdict)

    def gather(self, loader, is_first):
        """Gathers evidence on the chosen loader, a little with each batch; `is_first` of an epoch."""
        if self.evidence is None:
            if not self.is_target or self.verdict is not None:
                return
            self.evidence = Evidence(loader, self)
        elif not self.is_target:
            self.evidence.end()
            self.evidence = None
            return
        self.evidence.before(is_first)
        if self.evidence.verdict is not None:
            self.judge(self.evidence.verdict)
            self.evidence = None

    def judge(self, verdict):
        """Sets the final verdict."""
        self.verdict = verdict
        self.tell(
            "safety",
            workers=verdict.workers,
            reason=verdict.reason,
            withoutWorkers=verdict.without_workers,
        )

    def step_aside(self, error):
        """After a failure of pinbench itself: from now on the loader runs as the script made it."""
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
        """The script has dropped its loader: the persistent workers end with it, as torch's do."""
        gathering, self.evidence, self.forked = self.evidence, None, None
        if gathering is not None:
            gathering.end()
        inner, self._persisting = self._persisting, None
        if inner is not None:
            deaths.end(inner)

    def put_in_force(self, inner, user, loader):
        """Epochs now begin with its setting, and with its workers if these persist. `user`: its iterator."""
        inner.user = weakref.ref(user)
        if self.own["persistentWorkers"]:
            # Where torch keeps it: a script may end its workers, or put None there for new ones.
            vars(loader)["_iterator"] = inner.iterator
        self.setting, self.change = inner.setting, inner.change
        self._persisting = inner if inner.setting["persistentWorkers"] else None

    def attributes(self):
        """Those of the loader when the workers started that the script wants to persist; None without such."""
        inner = self._persisting if self.own["persistentWorkers"] else None
        return None if inner is None else inner.attributes

    def renew(self, loader):
        """The next epoch begins with new workers, as if no epoch had been before."""
        inner, self._persisting = self._persisting, None
        self.is_new, vars(loader)["_iterator"] = True, None
        if inner is not None and not self._is_used(inner, None):
            deaths.end(inner)

    def _is_used(self, inner, user):
        """Whether its batches still belong to another iterator than `user`."""
        other = inner.user()
        return other is not None and other is not user and other.is_under_way

    def persists(self, inner):
        """Whether it also begins the next epoch."""
        return inner is self._persisting

    def persisting(self, user):
        """The persistent inner loader under the setting in force, to begin an epoch with."""
        inner = self._persisting
        if inner is None:
            return None
        is_used = self._is_used(inner, user)
        if inner.setting != self.setting or is_used and not inner.is_own:
            self._persisting = None
            if not is_used:
                inner.end()
            return None
        return inner
