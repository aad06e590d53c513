"""Entry of the torch probe: the user's own Python runs this file, and pinbench speaks to it over descriptor 3.
Spawned workers also run it (as `__mp_main__`), before they unpickle their task.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))

# The user's modules come first, and none of them can have this package's name.
if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(_here):
    del sys.path[0]
if _here not in sys.path:
    sys.path.append(_here)

# pinbench may be installed in a folder that it cannot or must not write; the user's modules are cached as usual.
_writes_bytecode, sys.dont_write_bytecode = not sys.dont_write_bytecode, True
import pinbench_tune.workers  # noqa: E402, F401

if __name__ == "__main__":
    from pinbench_tune import serve

sys.dont_write_bytecode = not _writes_bytecode

if __name__ == "__main__":
    serve.main()
