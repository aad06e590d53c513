"""The script's own setting, started again in the middle of an epoch or in place of one that has failed."""

from .tried import deaths, handlers
from .tried.inner import unchanged_randomness

_NO_WORKERS = {"numWorkers": 0, "prefetchFactor": None, "persistentWorkers": False}


class OwnAgain:
    """Has `_loader`, `_watched` and `_inner()`."""

    # What a signal handler of the script has raised meanwhile.
    _interruption = None

    def _start_own(self, feed):
        """The script's own setting, or no workers if these cannot start any more."""
        own = self._inner(self._watched.own, 0)
        with unchanged_randomness(self._loader):
            try:
                own.start(feed)
            except Exception as error:
                deaths.end(own)
                setting = self._watched.own
                if handlers.has_raised(error):
                    # The loop may go on after it, and then all must be in place.
                    self._interruption = error
                elif isinstance(error, OSError):
                    setting = {**setting, **_NO_WORKERS}
                else:
                    raise
                own = self._inner(setting, 0)
                own.start(feed)
        return own

    def _pass_on(self):
        """Raises what a signal handler of the script has raised while its own setting was started."""
        error, self._interruption = self._interruption, None
        try:
            if error is not None:
                raise error
        finally:
            # The traceback holds this frame.
            del error
