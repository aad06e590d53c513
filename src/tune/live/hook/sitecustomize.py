"""Runs as each Python process starts of a command that pinbench tunes: has torch's DataLoader watched where it is
imported, and then runs the sitecustomize that would have run without this one.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _run_the_one_behind():
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        # Whoever imports that name means the user's own, now and later.
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if "PINBENCH_TUNE_SOCKET" in os.environ:
    from pinbench_live import importing

    importing.watch_torch()

# The processes that this one starts find the folder in their environment; in this one it has done its work.
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _here or path == ""]
_run_the_one_behind()
