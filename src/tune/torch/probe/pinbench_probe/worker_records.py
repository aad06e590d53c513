"""Files in which a worker leaves what it has seen, as nothing else of it reaches the process that started it."""

import json
import os


def write(path, record):
    """Writes it whole: a reader finds all of it or the one before. Raises OSError, for example without space."""
    with open(path + ".new", "w") as file:
        json.dump(record, file)
    os.replace(path + ".new", path)


def take(path):
    """The record, whose file is removed; None without any."""
    try:
        with open(path) as file:
            record = json.load(file)
        os.unlink(path)
        return record
    except (OSError, ValueError):
        return None
