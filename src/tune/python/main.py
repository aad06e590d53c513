"""Entry of the torch probe: the user's Python runs this file, and talks to pinbench over descriptor 3. Spawned workers
run it too (as `__mp_main__`), before they unpickle their task.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))

# The user's modules come first; none of them can have this package's name.
if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(_here):
    del sys.path[0]
if _here not in sys.path:
    sys.path.append(_here)

# pinbench's folder may be read-only; the user's modules are cached as usual.
_writes_bytecode, sys.dont_write_bytecode = not sys.dont_write_bytecode, True
import pinbench_tune.workers  # noqa: E402, F401

if __name__ == "__main__":
    from pinbench_tune import serve

sys.dont_write_bytecode = not _writes_bytecode

if __name__ == "__main__":
    serve.main()
