"""Whether the workers of an IterableDataset shard its samples, or each of them delivers all."""

import functools
import hashlib
import os

from . import worker_records
from .leaves import MOST_VALUES, is_array, leaves

# Batches of each worker that are compared: a part that never changes proves nothing.
BATCHES = 2
_MOST_PARTS = 64
# Values in one part of two batches (such as labels next to randomly cropped pictures) that are not equal by chance; if
# all parts are equal, fewer are enough.
_TELLING_VALUES, _LEAST_VALUES = 16, 4


def record(folder):
    """In a worker: writes a fingerprint of its first batches to a file for `sample_copies`."""
    from torch.utils.data._utils import fetch

    kind = fetch._IterableDatasetFetcher
    original = kind.fetch
    batches = []

    @functools.wraps(original)
    def recording(*arguments):
        batch = original(*arguments)
        if len(batches) < BATCHES:
            batches.append(parts(batch))
            if len(batches) == BATCHES:
                kind.fetch = original
                try:
                    worker_records.write(file_of(folder, os.getpid()), batches)
                except OSError:
                    pass  # no space: then it is unknown
        return batch

    kind.fetch = recording


def sample_copies(folder, pids):
    """Number of workers that delivered each sample: 1 if they shard; None if unknown."""
    groups, count = [], 0
    for pid in pids:
        batches = worker_records.take(file_of(folder, pid))
        if batches is None or not are_telling(batches):
            continue  # it made no second batch, or all of its samples are equal
        count += 1
        group = next((each for each in groups if are_alike(each, batches)), None)
        if group is None:
            groups.append(batches)
    return count / len(groups) if count > 1 else None


def are_alike(one, other):
    """Whether the first batches of two workers (their parts()) have the same samples."""
    if [len(batch) for batch in one] != [len(batch) for batch in other]:
        return False
    parts, others = _by_part(one), _by_part(other)
    telling = _telling(parts)
    alike = [i for i in telling if parts[i] == others[i]]
    values = [sum(parts[i][0]) for i in alike]
    if any(each >= _TELLING_VALUES for each in values):
        return True
    return len(alike) == len(telling) and sum(values) >= _LEAST_VALUES


def are_telling(batches):
    """Whether they are distinguishable: not if all samples are equal."""
    return bool(_telling(_by_part(batches)))


def _by_part(batches):
    """For each part: the number of values, and the values, over all batches."""
    least = min(len(batch) for batch in batches)
    return [list(zip(*(batch[i] for batch in batches))) for i in range(least)]


def _telling(parts):
    return [i for i, (_, values) in enumerate(parts) if len(set(values)) > 1]


def parts(batch):
    """[number of values, the values] of each array and each plain value of a batch, or list of such."""
    return [_part(leaf) for leaf in leaves(batch, _MOST_PARTS) if not isinstance(leaf, type)]


def _part(leaf):
    if is_array(leaf):
        values = leaf.reshape(-1)[:MOST_VALUES].tolist()
    elif isinstance(leaf, list):
        values = leaf
    else:
        return [1, _digest(leaf[:MOST_VALUES] if hasattr(leaf, "__len__") else leaf)]
    return [len(values), _digest(values)]


def _digest(values):
    values = bytes(values) if hasattr(values, "__getitem__") and not isinstance(values, (str, list, range)) else values
    return hashlib.blake2b(repr(values).encode(errors="replace"), digest_size=16).hexdigest()


def file_of(folder, pid):
    """A worker's record of its first batches."""
    return os.path.join(folder, "first-%d.json" % pid)
