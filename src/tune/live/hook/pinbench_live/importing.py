"""Watches the DataLoader as soon as torch defines it; processes that never import torch pay nothing."""

import importlib.util
import sys

_MODULE = "torch.utils.data.dataloader"


def watch_torch():
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the module through the other finders, and extends its execution."""

    def find_spec(self, name, path=None, target=None):
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_watch(module):
            execute(module)
            from . import loaders

            loaders.take_place(module)

        # Changes this one loader object only; others see the one that Python chose.
        spec.loader.exec_module = execute_and_watch
        return spec
