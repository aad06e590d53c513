"""The hook of `pinbench tune --go`: changes the arguments of one loader as it is constructed, and nothing else."""

import contextlib
import functools
import importlib.util
import inspect
import json
import os
import sys

_MODULE = "torch.utils.data.dataloader"


def watch():
    asked = json.loads(os.environ["PINBENCH_TUNE_GO"])
    when_torch_is_imported(functools.partial(take_place, asked))


def when_torch_is_imported(call):
    """Calls `call(module)` once torch defines its DataLoader. Costs nothing in processes that never import torch."""
    sys.meta_path.insert(0, _Finder(call))


class _Finder:
    """Finds the module through the other finders, and extends its execution."""

    def __init__(self, call):
        self._call = call

    def find_spec(self, name, path=None, target=None):
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_call(module):
            execute(module)
            self._call(module)

        # Replaces the method of this module loader only, not of its class.
        spec.loader.exec_module = execute_and_call
        return spec


class Census:
    """Identifies each loader of a process as it is constructed; two runs of a script give the same names."""

    def __init__(self):
        self._counts = {}

    def name(self, arguments):
        """(class and length of the data set, batch size, number of such loaders constructed before)."""
        batch_size = arguments.get("batch_size", 1)
        if arguments.get("batch_sampler") is not None:
            batch_size = getattr(arguments["batch_sampler"], "batch_size", None)
        kind = "%s, %s, %s" % (type(arguments["dataset"]).__name__, length(arguments["dataset"]), batch_size)
        order = self._counts.get(kind, 0)
        self._counts[kind] = order + 1
        return kind, order


def length(sized):
    try:
        return len(sized)
    except Exception:  # no __len__, or the user's own fails
        return None


def bound(signature, loader, positional, named):
    """The constructor's arguments; None if torch will refuse them."""
    try:
        return signature.bind(loader, *positional, **named)
    except TypeError:
        return None


def with_setting(arguments, setting):
    """Replaces arguments as an edit of the script would."""
    workers = setting["numWorkers"]
    arguments["num_workers"] = workers
    arguments["pin_memory"] = setting["pinMemory"]
    arguments["persistent_workers"] = setting["persistentWorkers"]
    if workers > 0:
        arguments["prefetch_factor"] = setting["prefetchFactor"]
    else:
        # Without workers DataLoader accepts none of these.
        for name in ("prefetch_factor", "timeout", "multiprocessing_context"):
            arguments.pop(name, None)


def take_place(asked, module):
    """`module`: torch.utils.data.dataloader, just executed. `asked`: a setting and the loader to change (go.ts)."""
    census = Census()
    original = module.DataLoader.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self, *positional, **named):
        found = bound(signature, self, positional, named)
        if found is None:
            return original(self, *positional, **named)
        kind, order = census.name(found.arguments)
        is_same = order == asked["order"] or asked["isRenewed"] and order > asked["order"]
        if kind == asked["kind"] and is_same:
            with_setting(found.arguments, asked["setting"])
            # An empty file reports that the loader was found. If pinbench has ended, the folder is gone.
            with contextlib.suppress(OSError):
                open(asked["found"], "w").close()
        return original(*found.args, **found.kwargs)

    module.DataLoader.__init__ = __init__
