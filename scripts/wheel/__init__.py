"""pinbench from Python: each function runs the command of its name, and returns the document of its --json as a dict.

    import pinbench
    result = pinbench.run(sizes=["1MiB", "64MiB"], memory="pinned")

Write a flag with underscores for dashes, a list for several values, and True for a flag without a value. Regressions
and findings are in the document, and raise nothing. The emulated device is used only with backend="emulated".
"""

import json
import os
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Union

from .__main__ import environment, program

Flag = Union[None, bool, int, float, str, "os.PathLike[str]", Sequence[Union[int, float, str, "os.PathLike[str]"]]]
Document = Dict[str, Any]

# Flags that are repeated for each value of a list; other flags join their values with commas.
_REPEATED = ("threshold", "label", "output")


class PinbenchError(Exception):
    """`kind` is that of docs/reference.md, such as "usage"; `hint` says what to do, or is None."""

    def __init__(self, kind: str, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message if hint is None else "%s %s" % (message, hint))
        self.kind = kind
        self.hint = hint


def run(**flags: Flag) -> Document:
    """Copies between host and device: see its "cells"."""
    return _document("run", flags)


def doctor(**flags: Flag) -> Document:
    """Whether the machine is as it should be: see its "verdict" and "findings"."""
    return _document("doctor", flags)


def check(baseline: Union[str, "os.PathLike[str]"], **flags: Flag) -> Document:
    """Whether copies are slower than a baseline's: see its "outcome" and "groups"."""
    return _document("check", {"baseline": baseline, **flags})


def _document(command: str, flags: Dict[str, Flag]) -> Document:
    node = os.path.join(program, "runtime", "node")
    arguments = [node, os.path.join(program, "bin", "pinbench.js"), command, "--json", "--quiet", *_arguments(flags)]
    try:
        child = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment(), "PINBENCH_ERRORS": "json"},
        )
    except OSError as error:
        raise PinbenchError("unavailable", "%s cannot be run: %s." % (node, error.strerror)) from None
    try:
        stdout, stderr = child.communicate()
    except BaseException:
        # On Ctrl-C and similar, lets pinbench free what it has pinned.
        child.terminate()
        child.communicate()
        raise
    try:
        return json.loads(stdout)
    except ValueError:
        raise _error(stderr.decode(errors="replace"), child.returncode) from None


def _arguments(flags: Dict[str, Flag]) -> List[str]:
    arguments: List[str] = []
    for key, value in flags.items():
        name = "--" + key.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(name)
            continue
        values = [os.fspath(one) if isinstance(one, os.PathLike) else str(one) for one in _listed(value)]
        for one in values if key in _REPEATED else [",".join(values)]:
            arguments.append("%s=%s" % (name, one))
    return arguments


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


def _error(stderr: str, code: int) -> PinbenchError:
    for line in reversed(stderr.splitlines()):
        if line.startswith('{"kind":'):
            return PinbenchError(**json.loads(line))
    return PinbenchError("measurement", stderr.strip() or "pinbench ended with %d." % code)
