"""Entry of the questions that need torch: the user's own Python runs this file, as it runs tune's probe.

The guard that ends processes with pinbench, and the channel to it, are those of tune. The process that a question
spawns also runs this file (as `__mp_main__`), before it unpickles its task.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_probe = os.path.normpath(os.path.join(_here, "..", "..", "..", "tune", "torch", "probe"))
if sys.version_info < (3, 8):
    os.write(3, b'{"type": "refused", "message": "These questions need Python 3.8 or newer.",'
                b' "hint": "Name another one with --python."}\n')
    sys.exit(1)

for _folder in (_here, _probe):
    if _folder not in sys.path:
        sys.path.append(_folder)

# pinbench may be installed where it must not or cannot write.
sys.dont_write_bytecode = True

if __name__ == "__main__":
    from pinbench_probe import guard

    # First, because the next steps may hang, or be killed.
    guard.start()
    from pinbench_explain import serve  # noqa: E402

    serve.main()
