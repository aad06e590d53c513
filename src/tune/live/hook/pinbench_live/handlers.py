"""Errors that come from the script's signal handlers, which run in whatever the main thread does."""

import signal


def has_raised(error):
    """Whether a handler of the script has raised it, such as that of an alarm: then the error is the script's."""
    # torch's own handler raises errors about the workers of tried settings.
    handlers = (signal.getsignal(number) for number in signal.valid_signals() - {signal.SIGCHLD})
    codes = {getattr(handler, "__code__", None) for handler in handlers} - {None}
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code in codes:
            return True
        at = at.tb_next
    return False
