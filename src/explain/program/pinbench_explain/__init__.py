"""What `pinbench explain` measures with the user's torch: a file for each question.

Each has NEEDS_GPU and `run(device)`, which returns ({name: its times}, {name: other facts}). Times are in ns, as a
script's user sees them: until the device has finished all its work.
"""

import time

import torch


def time_ns(action):
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    action()
    torch.cuda.synchronize()
    return time.perf_counter_ns() - start


def in_turns(actions, rounds, timed=time_ns):
    """{name: its times, one per round}. Actions take turns, so that a drift affects all of them alike.

    Each action runs once before.
    """
    for action in actions.values():
        timed(action)
    taken = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            taken[name].append(timed(action))
    return taken


class Kernels:
    """Queues kernels in the current stream: products of zeros, whose time does not depend on data."""

    _ORDER = 2048
    _MOST = 500

    def __init__(self, device):
        self._matrix = torch.zeros(self._ORDER, self._ORDER, device=device)
        self._product = torch.empty_like(self._matrix)
        self._count = 1

    def last(self, ns):
        """Makes a call queue about as many kernels as take this time."""
        self()
        self._count = 8
        each_ns = min(time_ns(self) for _ in range(3)) / 8
        self._count = max(1, min(self._MOST, round(ns / each_ns)))

    def __call__(self):
        for _ in range(self._count):
            torch.mm(self._matrix, self._matrix, out=self._product)
