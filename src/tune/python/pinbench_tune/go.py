"""The hook of `pinbench tune --go`: changes the arguments of a loader as it is constructed, and nothing else."""

import contextlib
import functools
import importlib.util
import inspect
import json
import os
import sys
import zlib

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


def name_of(arguments):
    """Names a loader under construction by its data set's class, its batch size and the lines that construct it, which
    an edit would change; two runs of a script give the same name. Asks the data set nothing: its __len__ may open a file.
    """
    batch_size = arguments.get("batch_size", 1)
    if arguments.get("batch_sampler") is not None:
        batch_size = size_of(arguments["batch_sampler"])
    lines, frame = [], sys._getframe(2)
    while frame is not None:
        lines.append("%s:%d" % (frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    place = zlib.crc32("\n".join(lines).encode(errors="replace"))
    return "%s, %s, %08x" % (type(arguments["dataset"]).__name__, batch_size, place)


def size_of(batch_sampler):
    try:
        return batch_sampler.batch_size
    except Exception:  # it has none, or the user's own fails
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
    original = module.DataLoader.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self, *positional, **named):
        found = bound(signature, self, positional, named)
        if found is None:
            return original(self, *positional, **named)
        if name_of(found.arguments) == asked["name"]:
            with_setting(found.arguments, asked["setting"])
            # An empty file reports that the loader was found. If pinbench has ended, the folder is gone.
            with contextlib.suppress(OSError):
                open(asked["found"], "w").close()
        return original(*found.args, **found.kwargs)

    module.DataLoader.__init__ = __init__
