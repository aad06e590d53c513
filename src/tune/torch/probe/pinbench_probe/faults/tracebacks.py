"""The user's part of a traceback, and the place in their code."""

import importlib.util
import os
import re
import sysconfig
import traceback

from .refusal import Refusal

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STANDARD = os.path.realpath(sysconfig.get_paths()["stdlib"])
_MACHINERY = tuple(
    os.path.join(folder, "")
    for folder in (
        _OWN,
        # Found, not imported: a missing target is reported at once, without waiting for torch.
        os.path.dirname(getattr(importlib.util.find_spec("torch"), "origin", None) or _OWN),
        os.path.join(_STANDARD, "multiprocessing"),
        os.path.join(_STANDARD, "importlib"),
    )
)
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_ORIGINAL = "Original Traceback (most recent call last):\n"


class UserTraceback:
    """`text` is without the frames of torch and the probe, `place` "train_data.py:12" or None, `error` its last line."""

    def __init__(self, error):
        try:
            self._read(error)
        except Exception:  # for example in the error's own __str__: then only its type is known
            self.text, self.place, self.last_file = None, None, None
            self.error = type(error).__name__

    def _read(self, error):
        message = str(error)
        if _ORIGINAL in message:
            # torch has made it from the text of a worker's exception.
            full = "Traceback (most recent call last):\n" + message.split(_ORIGINAL, 1)[1].rstrip()
        else:
            full = "".join(traceback.format_exception(type(error), error, error.__traceback__)).rstrip()
        kept, frames, self.last_file = _without_machinery(full)
        self.text = kept
        users = [frame for frame in frames if not _is_library(frame[0])]
        self.place = _describe(users[-1]) if users else None
        self.error = _last_error(full)
        if isinstance(error, SyntaxError) and error.filename and error.lineno:
            self.place = _describe((error.filename, error.lineno))


def refuse_for(error, what, kind="measurement", hint=None):
    """The refusal for an error of the user's code: "`what`: ValueError: bad sample (train_data.py:12)."."""
    found = UserTraceback(error)
    said = "it called sys.exit(%s)" % error.code if isinstance(error, SystemExit) else found.error.rstrip(".")
    place = " (%s)" % found.place if found.place else ""
    return Refusal(kind, "%s: %s%s." % (what, said, place), hint, found.text)


def shorten(path):
    """Relative to the working folder if it is below that."""
    try:
        relative = os.path.relpath(path)
    except OSError:
        return path
    return path if relative.startswith("..") else relative


def _describe(frame):
    return "%s:%s" % (shorten(frame[0]), frame[1])


def _is_library(file):
    path = os.path.realpath(file)
    return (
        "site-packages" in path
        or "dist-packages" in path
        or path.startswith(_STANDARD + os.sep)
        or not os.path.exists(path)
    )


def _without_machinery(full):
    """The text without these frames, the remaining frames as (file, line), and the innermost frame's file."""
    kept, frames, last_file = [], [], None
    dropping = False
    for line in full.split("\n"):
        found = _FRAME.match(line)
        if found:
            last_file = found["file"]
            dropping = last_file.startswith(_MACHINERY + ("<frozen importlib",))
            # A SyntaxError's own place has no function.
            if not dropping and found["function"]:
                frames.append((last_file, found["line"]))
        elif not line.startswith("    "):
            dropping = False
            if line.startswith("Traceback "):
                frames = []
        if not dropping:
            kept.append(line)
    if not frames:
        kept = [line for line in kept if not line.startswith("Traceback ")]
    return "\n".join(kept), frames, last_file


def _last_error(full):
    """ "ValueError: bad sample": the first line of what comes after the last frame."""
    lines = full.split("\n")
    after = max((i for i, line in enumerate(lines) if line.startswith("  ")), default=-1) + 1
    for line in lines[after:]:
        if line.strip() and not line.startswith("Traceback "):
            return line.strip()
    return lines[-1].strip()
