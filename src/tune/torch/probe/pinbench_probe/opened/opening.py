"""From a target to a Dataset or a DataLoader: calls what must be called."""

import inspect

from torch.utils.data import DataLoader, Dataset

from ..faults.refusal import Refusal
from ..faults.tracebacks import refuse_for
from . import suggestions

_STAGES = {"val": "validate", "test": "test", "predict": "predict"}


class Opening:
    """`is_first_rank`: whether this process prepares the data for all ranks of the node; `making` runs before each
    call.
    """

    def __init__(self, is_first_rank, making):
        self._is_first_rank = is_first_rank
        self._making = making

    def before(self, value, shown, attribute):
        """`value`, or its return value, to take an attribute of, or an entry if `attribute` is None."""
        if _must_be_called(value, attribute):
            value = self._call(value, shown)
        if attribute is not None and suggestions.is_lightning(value):
            self._set_up(value, shown, attribute)
        return value

    def finish(self, value, shown):
        """The Dataset or the DataLoader in `value` or its return value. Raises a Refusal if there is none."""
        is_given = isinstance(value, (Dataset, DataLoader)) or (not callable(value) and _is_dataset(value))
        if is_given:
            return value
        # Calling a LightningModule makes no data.
        if not callable(value) or suggestions.is_lightning(value):
            raise _no_dataset("%s is" % shown, value, shown)
        made = self._call(value, shown)
        if not isinstance(made, DataLoader) and not _is_dataset(made):
            raise _no_dataset("%s %s" % (shown, "makes" if inspect.isclass(value) else "returned"), made, shown)
        return made

    def _call(self, function, shown):
        self._making()
        try:
            inspect.signature(function).bind()
        except TypeError as error:
            raise Refusal(
                "usage",
                "%s cannot be called without arguments: %s." % (shown, error),
                "Name a function of your own without parameters, which calls it.",
            ) from None
        except ValueError:
            pass  # a builtin without a signature
        try:
            return function()
        except (Exception, SystemExit) as error:
            raise refuse_for(error, "%s failed" % shown) from None

    def _set_up(self, module, shown, attribute):
        """As Lightning's Trainer does before it asks for a loader."""
        self._making()
        try:
            if self._is_first_rank:
                module.prepare_data()
            module.setup(_STAGES.get(attribute.partition("_")[0], "fit"))
        except (Exception, SystemExit) as error:
            raise refuse_for(error, "%s cannot be set up" % shown) from None


def _must_be_called(value, attribute):
    if attribute is None:
        # A LightningModule can be called, but only with a batch.
        return callable(value) and not hasattr(type(value), "__getitem__") and not suggestions.is_lightning(value)
    if not inspect.isclass(value):
        return inspect.isroutine(value) and not hasattr(value, attribute)
    # Members of its objects only: methods, properties, and attributes set by __init__.
    found = inspect.getattr_static(value, attribute, None)
    return found is None or inspect.isfunction(found) or inspect.isdatadescriptor(found)


def _is_dataset(value):
    if isinstance(value, (Dataset, DataLoader)):
        return True
    if isinstance(value, (dict, str, bytes, tuple, type)):
        return False
    if isinstance(value, list) and suggestions.parts(value, ""):
        return False
    return hasattr(value, "__getitem__") and hasattr(value, "__len__")


def _no_dataset(what, value, shown):
    hint = suggestions.parts(value, shown) or "Name a Dataset, a DataLoader, or a function that returns one of them."
    if value is None:
        return Refusal("usage", "%s nothing." % what, "It must return a Dataset or a DataLoader.")
    return Refusal(
        "usage",
        "%s %s, which is neither a Dataset nor a DataLoader." % (what, type(value).__name__),
        hint,
    )
