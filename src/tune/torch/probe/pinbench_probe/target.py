"""From "train_data.py:make_dataset" to the object of that name."""

import importlib
import os
import sys

from .refusal import Refusal
from .tracebacks import refuse_for, shorten


def check(target, what="the data set"):
    """Refuses a target that cannot be right, before anything is imported for it."""
    location, _, name = target.rpartition(":")
    if not location or not name:
        raise Refusal(
            "usage",
            "'%s' does not say where %s is." % (target, what),
            "Name a file and what is in it, such as train_data.py:make_dataset, or a module: my.data:make_dataset.",
        )
    if _is_file(location) and not os.path.isfile(location):
        raise Refusal("usage", "There is no file %s." % location, "Paths are taken from the current folder.")


def load(target):
    """The object that `FILE.py:NAME` or `MODULE:NAME` names; NAME may have dots."""
    location, _, name = target.rpartition(":")
    is_file = _is_file(location)
    module = _import(_module_of_file(location) if is_file else _module_by_name(location), location, is_file)
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise Refusal("usage", "%s has no '%s'." % (location, name), _names_in(module, location))
        found = getattr(found, part)
    return found


def _is_file(location):
    return location.endswith(".py") or os.sep in location


def _module_of_file(path):
    folder, file = os.path.split(_absolute(path))
    name, extension = os.path.splitext(file)
    if extension != ".py" or "." in name:
        raise Refusal("usage", "%s cannot be imported." % path, "Give a Python file, NAME.py.")
    # As for a script that is run: its folder comes first.
    if folder not in sys.path[:1]:
        sys.path.insert(0, folder)
    loaded = sys.modules.get(name)
    file_of_loaded = getattr(loaded, "__file__", None)
    if loaded is not None and not (file_of_loaded and os.path.realpath(file_of_loaded) == os.path.realpath(path)):
        raise Refusal(
            "usage",
            "%s has the name of a module that Python or torch itself has loaded." % path,
            "Rename it: the workers could not import it either.",
        )
    return name


def _module_by_name(name):
    folder = _absolute("")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return name


def _absolute(path):
    try:
        return os.path.abspath(path)
    except OSError as error:
        raise Refusal("usage", "The current folder is gone: %s." % error.strerror, "Start pinbench in one.") from None


def _import(name, location, is_file):
    importlib.invalidate_caches()
    try:
        # By its own name, so that workers which are spawned can import its classes.
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not is_file and error.name and (name + ".").startswith(error.name + "."):
            raise Refusal(
                "usage",
                "There is no module %s." % name,
                "Modules are searched as Python does it, from the current folder.",
            ) from None
        raise _not_imported(location, error) from None
    except (Exception, SystemExit) as error:
        raise _not_imported(location, error) from None


def _not_imported(location, error):
    hint = None
    if isinstance(error, ImportError) and "no known parent package" in str(error):
        hint = (
            "It belongs to a package: name it as a module, such as package.module:make_dataset, "
            "from the folder of the package."
        )
    elif isinstance(error, SystemExit):
        hint = 'Importing it must not start a training: put that under `if __name__ == "__main__":`.'
    elif isinstance(error, ModuleNotFoundError):
        hint = "--python names another Python: the one of the training's environment."
    return refuse_for(error, "%s cannot be imported" % shorten(location), "usage", hint)


def _names_in(module, location):
    own = sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )
    return "It has %s." % ", ".join(own[:8]) if own else "%s defines no class and no function." % location
