"""Turns a target such as "train_data.py:make_dataset" into a Dataset or a DataLoader."""

import collections.abc
import importlib
import inspect
import os
import sys

from ..faults import Refusal, refuse_for, shorten

# Maximum number of names in a message.
_MOST = 12
# Class names, because Lightning and Hugging Face's datasets may not be installed.
_OF_LIGHTNING = ("LightningDataModule", "LightningModule")
_OF_DATASETS = ("Dataset", "IterableDataset", "DataLoader")
_STAGES = {"val": "validate", "test": "test", "predict": "predict"}


def check(target, what="the data set"):
    """Raises a Refusal for an invalid target before anything is imported."""
    location, _, name = target.partition(":")
    is_file = location.endswith(".py") or os.sep in location
    if not location or not name:
        said = "'%s' does not say where %s is." % (target, what)
        example = location if is_file else "train_data.py"
        hint = "Name a file and what is in it, such as %s:make_dataset, or a module: my.data:make_dataset." % example
        raise Refusal("usage", said, hint)
    if is_file and not os.path.isfile(location):
        raise Refusal("usage", "There is no file %s." % location, "Paths are taken from the current folder.")
    try:
        compile(name.strip(), "<name>", "eval")
    except SyntaxError as error:
        hint = "It is a Python expression in that file, such as make_dataset, or 'splits[\"train\"]' in quotes."
        raise Refusal("usage", "'%s' is no name in %s: %s." % (name, location, error.msg), hint) from None


def location_of(target):
    """The file or the module of a target."""
    return target.partition(":")[0]


def load(target):
    """The object that `FILE.py:NAME` or `MODULE:NAME` names; NAME may be an expression."""
    location, _, name = target.partition(":")
    module = _import(location)
    try:
        return eval(compile(name.strip(), "<name>", "eval"), vars(module))
    except (NameError, AttributeError) as error:
        owner = getattr(error, "obj", module)  # since Python 3.10
        hint = _names_in(module) if owner is module else _parts(owner, "", False)
        raise refuse_for(error, "%s cannot be found" % target, "usage", hint) from None
    except (Exception, SystemExit) as error:
        hint = "A function is called only if it is the whole name: write make()[\"train\"]." if "[" in name else None
        raise refuse_for(error, "%s failed" % target, "usage", hint) from None


def make(value, shown, is_first_rank, making):
    """Finds the Dataset or DataLoader in `value` or in what it returns. `making` runs before a call. `is_first_rank`:
    this process prepares data for all ranks of the node. Raises a Refusal if there is none.
    """
    if inspect.isclass(value) and _is_kind(value, _OF_LIGHTNING):
        value = _call(value, shown, making)
    if _is_lightning(value):
        value = value.train_dataloader
    if _is_lightning(getattr(value, "__self__", None)):
        # Lightning's Trainer also does this before it requests a loader.
        module, stage = value.__self__, _STAGES.get(value.__name__.partition("_")[0], "fit")
        making()
        try:
            if is_first_rank:
                module.prepare_data()
            module.setup(stage)
        except (Exception, SystemExit) as error:
            raise refuse_for(error, "%s cannot be set up" % shown) from None
    if not _is_data(value) and callable(value):
        value = _call(value, shown, making)
    if _is_data(value):
        return value
    if value is None:
        raise Refusal("usage", "%s returned nothing." % shown, "It must return a Dataset or a DataLoader.")
    said = "%s is %s, which is neither a Dataset nor a DataLoader." % (shown, type(value).__name__)
    raise Refusal("usage", said, _parts(value, shown, True))


def _call(function, shown, making):
    making()
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        said = "%s cannot be called without arguments: %s." % (shown, error)
        raise Refusal("usage", said, "Name a function of your own without parameters, which calls it.") from None
    except ValueError:
        pass  # a builtin without a signature
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise refuse_for(error, "%s failed" % shown) from None


def _is_kind(kind, names):
    return any(each.__name__ in names for each in kind.__mro__)


def _is_lightning(value):
    return _is_kind(type(value), _OF_LIGHTNING)


def _is_data(value):
    """Whether it is a DataLoader, or a data set for one."""
    if _is_kind(type(value), _OF_DATASETS):
        return True
    is_container = isinstance(value, (dict, str, bytes, tuple, type)) or isinstance(value, list) and _named(value, "")
    return not is_container and hasattr(value, "__getitem__") and hasattr(value, "__len__")


def _named(value, shown):
    """Expressions that name the data sets in a value called `shown`."""
    if isinstance(value, collections.abc.Mapping):
        parts = {"[%s]" % repr(key).replace("'", '"'): entry for key, entry in value.items()}
    elif isinstance(value, (list, tuple)):
        parts = {"[%d]" % index: entry for index, entry in enumerate(value[:_MOST])}
    else:
        parts = {".%s" % name: entry for name, entry in getattr(value, "__dict__", {}).items()}
    return [shown + part for part, entry in parts.items() if _is_kind(type(entry), _OF_DATASETS)]


def _parts(value, shown, says_otherwise):
    """A hint on how to name the data sets in a value; None if there are none."""
    named = _named(value, shown)
    if named:
        # Quoted, because a shell removes quotes and expands brackets.
        return "Name what is in it: %s." % _listed(["'%s'" % one if "[" in one else one for one in named])
    return "Name a Dataset, a DataLoader, or a function that returns one of them." if says_otherwise else None


def _names_in(module):
    """A hint: the names that the module defines, in order."""
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
        and getattr(value, "__module__", module.__name__) == module.__name__
    ]
    return "It has %s." % _listed(own) if own else "It defines nothing."


def _listed(names):
    return ", ".join(names[:_MOST]) + (" and %d more" % (len(names) - _MOST) if len(names) > _MOST else "")


def _import(location):
    """Imports the module by its own name, so that spawned workers can too. Its folder comes first in sys.path."""
    folder, file = os.path.split(location)
    is_file = location.endswith(".py") or bool(folder)
    name, extension = os.path.splitext(file) if is_file else (location, ".py")
    if extension != ".py" or is_file and "." in name:
        raise Refusal("usage", "%s cannot be imported." % location, "Give a Python file, NAME.py.")
    sys.path.insert(0, os.path.abspath(folder))
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if is_file and name in sys.modules and os.path.realpath(loaded or "") != os.path.realpath(location):
        said = "%s has the name of a module that Python or torch itself has loaded." % location
        raise Refusal("usage", said, "Rename it: the workers could not import it either.")
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        hint = None
        if isinstance(error, ImportError) and "no known parent package" in str(error):
            hint = "It belongs to a package: name it as a module, package.module:make_dataset, from the package's folder."
        elif isinstance(error, SystemExit):
            hint = 'Importing it must not start a training: put that under `if __name__ == "__main__":`.'
        elif isinstance(error, ModuleNotFoundError):
            hint = "Modules are searched from the current folder. --python names the Python of the training's environment."
        raise refuse_for(error, "%s cannot be imported" % shorten(location), "usage", hint) from None
