"""Reports arrivals to pinbench in small steps, from within the loop."""

import time

import torch

from . import facts
from .probe import probe_module

# More frequent reports would affect the measurement.
_TELL_NS = 20_000_000
_MAKING_NS = 250_000_000


class Reporting:
    """For one epoch of a watched loader."""

    def __init__(self, watched):
        self._watched = watched
        self._inner = None
        self._ns = []
        self._wait_ns = []
        self._told_ns = 0
        self._making_ns = 0
        self._made = (0, 0), {}
        self._making = probe_module("making")

    def changed(self, change):
        self.flush()
        watched = self._watched
        # Also after the search: this is its final state.
        watched.session.tell(
            "changed", loader=watched.number, change=change, atBatch=watched.delivered, ns=time.perf_counter_ns()
        )

    def epoch(self, event, ns):
        self.flush()
        self._watched.tell("epoch", event=event, epoch=self._watched.epochs - 1, ns=ns)

    def delivered(self, inner, batch, began_ns, drawn=None):
        """Called when a batch made by `inner` from `drawn` is about to go to the loop, which asked for it at
        `began_ns`.
        """
        now_ns = time.perf_counter_ns()
        if inner is not self._inner:
            self.flush()
            self._inner = inner
            self._making_ns = 0
        self._ns.append(now_ns)
        self._wait_ns.append(now_ns - began_ns)
        watched = self._watched
        if inner.is_discarded:
            pass
        elif watched.delivered == 1:
            watched.contents = facts.contents(batch), drawn
        elif watched.contents is not None:
            # By now the device of the script's batches is known.
            watched.tell("batch", **facts.batch(*watched.contents))
            watched.contents = None
        if now_ns - self._told_ns >= _TELL_NS:
            self.flush()

    def flush(self):
        if not self._ns:
            return
        inner = self._inner
        self._told_ns = time.perf_counter_ns()
        if self._told_ns - self._making_ns >= _MAKING_NS:
            self._making_ns = self._told_ns
            where = self._watched.session.folder, inner.makers()
            self._made = self._making.totals(*where), self._making.parts(*where)
        (made, make_ns), parts = self._made
        self._watched.tell(
            "batches",
            change=inner.change,
            ns=self._ns,
            waitNs=self._wait_ns,
            grad=torch.is_grad_enabled(),
            made=made,
            makeNs=make_ns,
            **parts,
            workers=inner.worker_pids(),
            discarded=inner.is_discarded,
        )
        self._ns, self._wait_ns = [], []
