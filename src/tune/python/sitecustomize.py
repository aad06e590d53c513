"""Runs at the start of each Python process of a tuned command: hooks torch's DataLoader when it is imported, and then
runs the sitecustomize that it hides.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _run_the_one_behind():
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        # Later imports of this name get the user's module.
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if "PINBENCH_TUNE_GO" in os.environ:
    from pinbench_tune import go

    go.watch()
elif "PINBENCH_TUNE_SOCKET" in os.environ:
    from pinbench_tune.trial import watch

    watch.watch()

# Child processes find this folder through their environment; this process no longer needs it.
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _here or path == ""]
_run_the_one_behind()
