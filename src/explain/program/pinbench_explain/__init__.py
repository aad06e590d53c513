"""The experiments of `pinbench explain` that need torch, one module per question.

Each has NEEDS_GPU and `run(device)`, which returns ({name: times}, {name: other facts}). Times are in ns, as a user
sees them: until the device has finished all work.
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
    """{name: times, one per round}. Actions take turns, so that drift affects all alike.

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
    """Queues kernels in the current stream: products of zero matrices, whose time does not depend on data."""

    _ORDER = 2048
    _MOST = 500

    def __init__(self, device):
        self._matrix = torch.zeros(self._ORDER, self._ORDER, device=device)
        self._product = torch.empty_like(self._matrix)
        self._count = 1

    def last(self, ns):
        """Sets the number of kernels per call, so that they take about this time."""
        self()
        self._count = 8
        each_ns = min(time_ns(self) for _ in range(3)) / 8
        self._count = max(1, min(self._MOST, round(ns / each_ns)))

    def __call__(self):
        for _ in range(self._count):
            torch.mm(self._matrix, self._matrix, out=self._product)
