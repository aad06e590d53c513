"""Times as a script's user feels them: until the device is done with all that was asked of it."""

import time

import torch


def time_ns(action):
    _finish()
    start = time.perf_counter_ns()
    action()
    _finish()
    return time.perf_counter_ns() - start


def in_turns(actions, rounds):
    """{name: its time, a round each}: all of them in turns, so that what changes meanwhile meets all alike.

    Each action runs once before.
    """
    for action in actions.values():
        time_ns(action)
    taken = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            taken[name].append(time_ns(action))
    return taken


def _finish():
    # A torch without a GPU has none to wait for.
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
