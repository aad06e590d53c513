"""Errors that come from the script's signal handlers, which run in whatever the main thread does."""

import _signal  # without the enumerations of `signal`, which take longer than all else here
import functools
import signal
import types

# torch's own handler raises errors about the workers of tried settings.
_NUMBERS = [int(number) for number in signal.valid_signals() - {signal.SIGCHLD}]
# The code of those that were set when a batch was asked for: a handler may take itself away before it raises.
_known = set()


def remember():
    """Called before anything that they may interrupt."""
    global _known
    _known = _codes()


def has_raised(error):
    """Whether a handler of the script has raised it, such as that of an alarm: then the error is the script's."""
    codes = _known | _codes()
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code in codes:
            return True
        at = at.tb_next
    return False


def _codes():
    return {_code_of(each) for number in _NUMBERS if callable(each := _signal.getsignal(number))} - {None}


def _code_of(handler):
    kind = type(handler)
    if issubclass(kind, functools.partial):
        return _code_of(handler.func)
    if kind is types.MethodType:
        return _code_of(handler.__func__)
    if kind is types.FunctionType:
        return handler.__code__
    # Its class may define what it does when it is called.
    return getattr(getattr(kind, "__call__", None), "__code__", None)
