"""From "train_data.py:make_dataset" to the object of that name."""

import importlib
import inspect
import os
import re
import sys

from ..faults.refusal import Refusal
from ..faults.tracebacks import refuse_for, shorten

# A name, followed by attributes and entries. A key may lack its quotes, because a shell removes them.
_KEY = r"""\[\s*(?:"[^"]*"|'[^']*'|[^\[\]"']+?)\s*\]"""
_TARGET = re.compile(r"(?P<location>.+):(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*|%s)*)" % _KEY, re.DOTALL)
_STEP = re.compile(r"\.?(?P<attribute>\w+)|(?P<entry>%s)" % _KEY)


def check(target, what="the data set"):
    """Refuses an impossible target before anything is imported."""
    location, _, name = target.partition(":")
    if not location or not name:
        example = location if _is_file(location) else "train_data.py"
        raise Refusal(
            "usage",
            "'%s' does not say where %s is." % (target, what),
            "Name a file and what is in it, such as %s:make_dataset, or a module: my.data:make_dataset." % example,
        )
    if _TARGET.fullmatch(target) is None:
        if _is_file(location) and not os.path.isfile(location):
            raise _no_file(location)
        hint = 'Write NAME, NAME.ATTRIBUTE or NAME["KEY"].'
        if "(" in name:
            hint = "Leave out the parentheses: what can be called is called, without arguments."
        raise Refusal("usage", "'%s' names nothing in %s." % (name, location), hint)
    location = location_of(target)
    if _is_file(location) and not os.path.isfile(location):
        raise _no_file(location)


def location_of(target):
    """The file or the module of a checked target."""
    return _TARGET.fullmatch(target)["location"]


def load(target, opening=None):
    """The object that `FILE.py:NAME` or `MODULE:NAME` names; NAME may have dots, and keys such as `["train"]`.
    `opening` makes the calls and the setup needed for an attribute or an entry.
    """
    match = _TARGET.fullmatch(target)
    location, name = match["location"], match["name"]
    is_file = _is_file(location)
    module = _import(_module_of_file(location) if is_file else _module_by_name(location), location, is_file)
    found, shown = module, location
    for step in _STEP.finditer(name):
        given = found
        if opening is not None and found is not module:
            found = opening.before(found, shown, step["attribute"])
        if step["attribute"]:
            found = _attribute(found, shown, step["attribute"])
            shown += (":" if shown == location else ".") + step["attribute"]
        else:
            what = "%s %s" % (shown, "is" if found is given else "returned")
            found = _entry(found, shown, step["entry"], what)
            shown += step["entry"]
    return found


def _attribute(found, shown, name):
    from . import suggestions

    try:
        return getattr(found, name)
    except AttributeError:
        if inspect.ismodule(found):
            hint = suggestions.names_in(found, shown, name)
        else:
            hint = suggestions.parts(found, shown)
        raise Refusal("usage", "%s has no '%s'." % (shown, name), hint) from None
    except Exception as error:  # of a property
        raise refuse_for(error, "%s.%s failed" % (shown, name)) from None


def _entry(found, shown, entry, what):
    from . import suggestions

    key = entry[1:-1].strip()
    keys = [key[1:-1]] if key[0] in "\"'" else [key]
    if re.fullmatch(r"-?[0-9]{1,9}", key):
        keys.insert(0, int(key))
    if not hasattr(type(found), "__getitem__"):
        said = "%s %s, which has no entries such as %s." % (what, type(found).__name__, entry)
        raise Refusal("usage", said, suggestions.parts(found, shown))
    for one in keys:
        try:
            return found[one]
        except (KeyError, IndexError, TypeError):
            continue
        except Exception as error:
            raise refuse_for(error, "%s%s failed" % (shown, entry)) from None
    raise Refusal("usage", "%s has no entry %s." % (shown, entry), suggestions.parts(found, shown))


def _no_file(location):
    return Refusal("usage", "There is no file %s." % location, "Paths are taken from the current folder.")


def _is_file(location):
    return location.endswith(".py") or os.sep in location


def _module_of_file(path):
    folder, file = os.path.split(_absolute(path))
    name, extension = os.path.splitext(file)
    if extension != ".py" or "." in name:
        raise Refusal("usage", "%s cannot be imported." % path, "Give a Python file, NAME.py.")
    # As for a script: its folder comes first.
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
        # By its own name, so that spawned workers can import its classes.
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
        hint = "Name the Python of the training's environment with --python."
    return refuse_for(error, "%s cannot be imported" % shorten(location), "usage", hint)
