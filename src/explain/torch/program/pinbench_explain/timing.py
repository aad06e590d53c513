"""Times as a script's user sees them: until the device has finished all its work."""

import time

import torch


def time_ns(action):
    _finish()
    start = time.perf_counter_ns()
    action()
    _finish()
    return time.perf_counter_ns() - start


def in_turns(actions, rounds):
    """{name: its times, one per round}. Actions take turns, so that a drift affects all of them alike.

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
