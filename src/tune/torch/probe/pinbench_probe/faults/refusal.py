"""The error of opening a probe."""


class Refusal(Exception):
    """Becomes pinbench's own error: a kind (`usage`, `unavailable` or `measurement`), a sentence and a hint."""

    def __init__(self, kind, message, hint=None, traceback=None):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.traceback = traceback
