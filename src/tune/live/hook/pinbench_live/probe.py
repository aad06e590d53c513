"""The modules of the separate probe for data sets, whose facts on batches and workers apply to a job too."""

import importlib
import os
import sys

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "torch", "probe")


def probe_module(name):
    sys.path.insert(0, _FOLDER)
    try:
        return importlib.import_module("pinbench_probe.%s" % name)
    finally:
        sys.path.remove(_FOLDER)
