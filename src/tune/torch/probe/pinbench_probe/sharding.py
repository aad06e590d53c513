"""Whether the workers of an IterableDataset share its samples out, or each of them delivers all."""

import collections.abc
import functools
import hashlib
import json
import os

import torch

# Batches of each worker that are compared: a part that stays the same from one to the next says nothing.
_BATCHES = 2
# Of a tensor or a list, so many values are looked at.
_MOST_VALUES = 8192
# One part of two batches (labels, where pictures are cropped at random) that has so many values is not alike by chance;
# where all parts are alike, fewer are enough.
_TELLING_VALUES, _LEAST_VALUES = 16, 4


def record(folder):
    """In a worker: has what tells its first batches from others written to a file, which `sample_copies` reads."""
    from torch.utils.data._utils import fetch

    kind = fetch._IterableDatasetFetcher
    original = kind.fetch
    batches = []

    @functools.wraps(original)
    def recording(*arguments):
        batch = original(*arguments)
        if len(batches) < _BATCHES:
            batches.append(_parts(batch))
            if len(batches) == _BATCHES:
                kind.fetch = original
                _write(_file_of(folder, os.getpid()), batches)
        return batch

    kind.fetch = recording


def sample_copies(folder, pids):
    """How many workers delivered each sample: 1 where they share them out; None where that cannot be told."""
    groups, count = [], 0
    for pid in pids:
        batches = _take(_file_of(folder, pid))
        if batches is None or not _telling(_by_part(batches)):
            continue  # it came to no second batch, or all of its samples are the same
        count += 1
        group = next((each for each in groups if _are_alike(each, batches)), None)
        if group is None:
            groups.append(batches)
    return count / len(groups) if count > 1 else None


def _are_alike(one, other):
    """Whether these are the first batches of the same samples."""
    if [len(batch) for batch in one] != [len(batch) for batch in other]:
        return False
    parts, others = _by_part(one), _by_part(other)
    telling = _telling(parts)
    alike = [i for i in telling if parts[i] == others[i]]
    values = [sum(parts[i][0]) for i in alike]
    if any(each >= _TELLING_VALUES for each in values):
        return True
    return len(alike) == len(telling) and sum(values) >= _LEAST_VALUES


def _by_part(batches):
    """Of each part of them: how many values, and what they are, in all of the batches."""
    least = min(len(batch) for batch in batches)
    return [list(zip(*(batch[i] for batch in batches))) for i in range(least)]


def _telling(parts):
    return [i for i, (_, values) in enumerate(parts) if len(set(values)) > 1]


def _parts(batch):
    """[how many values, what they are] of each tensor and each plain value of a batch, or list of such."""
    found = []
    _visit(batch, found, 0)
    return found


def _visit(value, found, depth):
    if depth > 8 or len(found) >= 64:
        return
    if isinstance(value, torch.Tensor):
        values = value.detach().reshape(-1)[:_MOST_VALUES].tolist()
        found.append([len(values), _digest(values)])
    elif _is_plain(value):
        found.append([1, _digest(value)])
    elif isinstance(value, collections.abc.Mapping):
        for item in value.values():
            _visit(item, found, depth + 1)
    elif isinstance(value, collections.abc.Sequence):
        if all(_is_plain(item) for item in value):
            found.append([len(value), _digest(list(value[:_MOST_VALUES]))])
        else:
            for item in value:
                _visit(item, found, depth + 1)
    else:
        for item in list(getattr(value, "__dict__", {}).values()):
            _visit(item, found, depth + 1)


def _is_plain(value):
    return isinstance(value, (str, bytes, int, float, type(None)))


def _digest(values):
    return hashlib.blake2b(repr(values).encode(errors="replace"), digest_size=16).hexdigest()


def _write(path, batches):
    try:
        with open(path + ".new", "w") as file:
            json.dump(batches, file)
        os.replace(path + ".new", path)
    except OSError:
        pass  # no room: it cannot be told then


def _take(path):
    try:
        with open(path) as file:
            batches = json.load(file)
        os.unlink(path)
        return batches
    except (OSError, ValueError):
        return None


def _file_of(folder, pid):
    return os.path.join(folder, "first-%d.json" % pid)
