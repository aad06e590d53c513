"""Entry of questions that need torch, run by the user's Python.

Its guard and its channel to pinbench are those of tune. Processes spawned by a question run this file too (as
`__mp_main__`), before they unpickle their task.
"""

import faulthandler
import importlib
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_tune = os.path.normpath(os.path.join(_here, "..", "..", "tune", "python"))
if sys.version_info < (3, 8):
    os.write(3, b'{"type": "failed", "kind": "unavailable", "message": "These questions need Python 3.8 or newer.",'
                b' "hint": "Name another one with --python."}\n')
    sys.exit(1)

for _folder in (_here, _tune):
    if _folder not in sys.path:
        sys.path.append(_folder)

# pinbench's folder may be read-only.
sys.dont_write_bytecode = True

from pinbench_tune import guard  # noqa: E402
from pinbench_tune.channel import Channel  # noqa: E402
from pinbench_tune.faults import Refusal  # noqa: E402
from pinbench_tune.serve import check_torch  # noqa: E402


def main():
    scratch = os.environ["PINBENCH_PROBE_SCRATCH"]
    faulthandler.enable()
    guard.keep_in(scratch)
    channel = Channel(lambda _trial: None)
    while True:
        command = channel.next_command()
        if command["type"] == "exit":
            return
        try:
            channel.send("measured", **_answer(command["question"], command["device"]))
        except Refusal as refusal:
            channel.send("failed", kind=refusal.kind, message=refusal.message, hint=refusal.hint)
        except Exception as error:
            said = "%s: %s" % (type(error).__name__, _first_line(error))
            channel.send("failed", kind="measurement", message=said, hint=None)


def _answer(question, device):
    """`question`: name of a module of pinbench_explain, with hyphens for underscores."""
    check_torch()
    import torch

    this = "torch %s of %s" % (torch.__version__, sys.executable)
    program = importlib.import_module("pinbench_explain." + question.replace("-", "_"))
    if program.NEEDS_GPU:
        missing = _why_no_gpu(torch, device)
        if missing is not None:
            said = "This needs a GPU, and %s %s." % (this, missing)
            raise Refusal("unavailable", said, "Name a Python whose torch has CUDA with --python.")
        this += ", on %s" % torch.cuda.get_device_name(device)
    times, facts = program.run(torch.device("cuda", device))
    return {"torch": this, "times": times, "facts": facts}


def _why_no_gpu(torch, device):
    if torch.version.cuda is None:
        return "is built without CUDA"
    if not torch.cuda.is_available():
        return "sees no GPU"
    if device >= torch.cuda.device_count():
        return "sees only %d of them" % torch.cuda.device_count()
    try:
        torch.cuda.set_device(device)
        torch.cuda.synchronize()
    except RuntimeError as error:
        return "cannot use it: %s" % _first_line(error)
    return None


def _first_line(error):
    # Shortened, because some messages list all features of the torch build.
    return str(error).strip().split("\n")[0][:300].rstrip(".")


if __name__ == "__main__":
    main()
