"""Has the DataLoader watched as soon as torch defines it; a process that never imports torch pays nothing."""

import importlib.util
import sys

_MODULE = "torch.utils.data.dataloader"


def watch_torch():
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the module by way of the other finders, and adds something to its execution."""

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

        # Of this one loader object alone: everybody else sees the one that Python chose.
        spec.loader.exec_module = execute_and_watch
        return spec
