"""One setting, from the start of its DataLoader until pinbench has seen enough."""

import os
import signal
import threading
import time

from .. import making, sharding
from ..faults import loop_faults
from .owned_memory import OwnedMemory
from .usage import Usage
from .workers import Workers


class Stopped(BaseException):
    """Interrupts the main thread's wait for workers."""


class Stop:
    """Asks the running trial to end; set by the channel's thread, read between two batches. A signal cuts short a wait
    for workers. It does not interrupt the user's own code, which runs here without workers and would be left halfway.
    """

    def __init__(self):
        self._trial = None
        # Called at the request, because the current batch may take too long.
        self.on_ask = None
        self.waits_for_workers = False
        self._main = threading.main_thread().ident
        signal.signal(signal.SIGUSR1, self._on_signal)

    def ask(self, trial):
        self._trial = trial
        if self.on_ask is not None:
            _guarded(self.on_ask)  # the trial may end meanwhile
        signal.pthread_kill(self._main, signal.SIGUSR1)

    def asked(self, trial):
        return self._trial == trial

    def _on_signal(self, _signal, _frame):
        if self.waits_for_workers:
            self.waits_for_workers = False
            raise Stopped


class Trial:
    def __init__(self, number, setting, source, device, step, channel, stop, scratch):
        self._number = number
        self._setting = setting
        self._source = source
        self._channel = channel
        self._stop = stop
        self._scratch = scratch
        making.forget(scratch, [os.getpid()])
        self._started_ns = 0
        self._batches = 0
        self._wait_ns = 0
        # The phase of the loop, which distinguishes faults.
        self._doing = loop_faults.STARTING
        self._consumer = device.consumer(setting, step, self)
        self._usage = Usage(source.tensors)
        self._owned = OwnedMemory(setting["numWorkers"])
        self._workers = Workers(self._usage, scratch)

    def run(self):
        """Sends the arrivals, then "ending" with all results, and "ended" when the workers are gone."""
        failure = None
        self._channel.collect_from(lambda: _guarded(self._consumer.collect))
        self._stop.on_ask = lambda: self._channel.send("sums", trial=self._number, figures=self._means())
        try:
            try:
                self._loop()
                self._consumer.finish()
            finally:
                self._stop.waits_for_workers = False
                self._workers.hush()
        except Stopped:
            _guarded(self._consumer.finish)
        except BaseException as error:  # also SystemExit, which the data set may raise
            doing = loop_faults.STEPPING if self._consumer.is_in_step else self._doing
            failure = loop_faults.describe(error, doing, self._setting, self._batches, self._workers)
            # Earlier batches have arrived; a failing device reports it here too.
            _guarded(self._consumer.finish)
        summary = _guarded(lambda: self._usage.summary(self._workers.pids(), self._setting["numWorkers"])) or {}
        self._channel.flush_arrivals()
        self._channel.collect_from(None)
        self._stop.on_ask = None
        figures = {**self._means(), **summary}
        owned = figures.get("workerPrivateBytes")
        if self._setting["numWorkers"] > 0 and owned is not None:
            figures["workerEpochBytes"] = _guarded(lambda: self._bytes_over_epoch(owned))
        if self._source.is_iterable:
            figures["sampleCopies"] = _guarded(lambda: sharding.sample_copies(self._scratch, self._workers.pids()))
        self._channel.send("ending", trial=self._number, failure=failure, figures=figures)
        # The last batches are freed before the next trial begins.
        self._consumer = None
        pids = self._workers.pids()
        _guarded(self._workers.end)
        making.forget(self._scratch, pids)
        self._channel.send("ended", trial=self._number)

    def _loop(self):
        setting = self._setting
        self._consumer.start()
        self._started_ns = time.perf_counter_ns()
        loader = self._source.loader(
            setting["numWorkers"], setting["pinMemory"], setting["prefetchFactor"], setting["persistentWorkers"]
        )
        iterator = iter(loader)
        self._workers.watch(iterator)
        has_workers = setting["numWorkers"] > 0
        while not self._stop.asked(self._number):
            self._doing = loop_faults.LOADING
            before = time.perf_counter_ns()
            self._stop.waits_for_workers = has_workers
            if self._stop.asked(self._number):
                return  # before its signal could have an effect
            try:
                batch = next(iterator)
            except StopIteration:
                raise loop_faults.DataEnded from None
            self._stop.waits_for_workers = False
            self._wait_ns += time.perf_counter_ns() - before
            self._doing = loop_faults.COPYING
            self._batches += 1
            self._consumer.take(batch)
            # As in a training loop, where the copy replaces the name: the pages are freed while the next is fetched.
            del batch
            self._usage.sample()
            if has_workers:
                self._owned.count(self._batches, self._workers.pids())

    def _bytes_over_epoch(self, owned):
        pids = self._workers.pids()
        more = self._owned.over_epoch(self._batches, pids, self._source.epoch_batches(), self._source.batch_size)
        return None if more is None else owned + more * len(pids)

    def arrived(self, ns):
        """For the consumer, like `expect`."""
        self._channel.arrived(ns - self._started_ns)

    def expect(self):
        self._channel.expect()

    def _means(self):
        """The last batch; None before the first one."""
        batches = self._batches
        means = {"waitNsPerBatch": self._wait_ns, "copyNsPerBatch": self._consumer.copy_ns}
        means = {name: ns / batches if batches > 0 else None for name, ns in means.items()}
        return {**means, **self._making()}

    def _making(self):
        makers = self._workers.pids() if self._setting["numWorkers"] > 0 else [os.getpid()]
        batches, ns = making.totals(self._scratch, makers)
        parts = making.parts(self._scratch, makers)
        means = {"makeNsPerBatch": ns / batches if batches > 0 else None}
        if parts["collated"] > 0:
            means["collateNsPerBatch"] = parts["collateNs"] / parts["collated"]
        if parts["handedOver"] > 0:
            means["handOverNsPerBatch"] = parts["handOverNs"] / parts["handedOver"]
        return means


def _guarded(action):
    try:
        return action()
    except Exception:
        return None
