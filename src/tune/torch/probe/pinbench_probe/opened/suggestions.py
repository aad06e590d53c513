"""Suggestions for a target: names in a module, and the data sets that an object holds."""

import collections.abc
import difflib
import inspect

from torch.utils.data import DataLoader, Dataset

# Most names listed in a message.
_MOST = 12
# By name, because Lightning and Hugging Face's datasets may be missing.
_OF_LIGHTNING = ("LightningDataModule", "LightningModule")
_OF_DATASETS = ("Dataset", "IterableDataset")
_LIGHTNING_PACKAGES = ("lightning", "lightning_fabric", "pytorch_lightning")


def is_lightning(value):
    """Whether Lightning's Trainer would call its `prepare_data` and `setup` before it asks for a loader."""
    return any(cls.__name__ in _OF_LIGHTNING for cls in type(value).__mro__)


def names_in(module, location, wanted):
    """A hint: the likely meaning of `wanted`, and the module's names: functions, then data sets, then the rest."""
    named = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    ranks = [(_rank(value, module.__name__), name) for name, value in named.items()]
    # In the order of the file.
    own = [name for _, name in sorted((one for one in ranks if one[0] is not None), key=lambda one: one[0])]
    if not own:
        return "%s defines no function, no class and no data set." % location
    meant = difflib.get_close_matches(wanted, own, 1)
    return "%sIt has %s." % ("Did you mean %s? " % meant[0] if meant else "", _listed(own))


def _rank(value, module):
    """0 for the module's functions, 1 for data, 2 for classes of data, 3 for what else it has; None for the rest."""
    if inspect.ismodule(value):
        return None
    if inspect.isroutine(value) or inspect.isclass(value):
        if getattr(value, "__module__", None) != module:
            return None
        if inspect.isclass(value):
            return 2 if any(cls.__name__ in _OF_LIGHTNING + _OF_DATASETS for cls in value.__mro__[1:]) else 3
        return 0
    return 1 if _is_data(value) or _parts(value) else 3


def _is_data(value):
    return isinstance(value, (Dataset, DataLoader)) or any(cls.__name__ in _OF_DATASETS for cls in type(value).__mro__)


def parts(value, shown):
    """A hint: how to name the data sets in a value called `shown`; None if it holds none."""
    named = ["%s%s" % (shown, part) for part in _parts(value)]
    if not named:
        return None
    # A shell removes quotes, and takes brackets for a pattern.
    quoted = ["'%s'" % one.replace("'", "'\\''") if "[" in one else one for one in named]
    return "Name what is in it: %s." % _listed(quoted, "or")


def _parts(value):
    try:
        return _parts_of(value)
    except Exception:  # from code of the value: then nothing is known of it
        return []


def _parts_of(value):
    """The suffix of the value's name for each of its data sets: `.train_dataloader`, `["train"]`."""
    if isinstance(value, collections.abc.Mapping):
        return ["[%s]" % _key(key) for key, entry in value.items() if _key(key) and _is_data(entry)]
    if isinstance(value, (list, tuple)):
        return ["[%d]" % index for index, entry in enumerate(value[:_MOST]) if _is_data(entry)]
    if _is_data(value) or inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value):
        return []
    attributes = getattr(value, "__dict__", {})
    data = [name for name, entry in attributes.items() if not name.startswith("_") and _is_data(entry)]
    return [".%s" % name for name in _loaders_of(value) or data]


def _key(key):
    if isinstance(key, int):
        return str(key)
    return '"%s"' % key if isinstance(key, str) and '"' not in key else None


def _loaders_of(value):
    """The methods that give loaders, that for training first. Those that Lightning itself has only raise."""
    methods = inspect.getmembers(type(value), inspect.isfunction)
    own = [
        name
        for name, method in methods
        if name.endswith("_dataloader") and method.__module__.split(".")[0] not in _LIGHTNING_PACKAGES
    ]
    return sorted(own, key=lambda name: (name != "train_dataloader", name))


def _listed(names, word="and"):
    if len(names) > _MOST:
        return "%s and %d more" % (", ".join(names[:_MOST]), len(names) - _MOST)
    return names[0] if len(names) == 1 else "%s %s %s" % (", ".join(names[:-1]), word, names[-1])
