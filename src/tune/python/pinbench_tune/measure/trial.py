"""Measures one setting, from the start of its DataLoader until pinbench has enough batches."""

import signal
import threading
import time

from .. import faults, workers
from .usage import Usage

# Time limit for a worker to end by itself; its current batch is not needed.
_GRACE_SECONDS = 0.5


class Stopped(BaseException):
    """Interrupts the main thread's wait for workers."""


class Stop:
    """A request to end the trial: set by the channel's thread, read between two batches. A signal interrupts a wait for
    workers, but never the user's own code, which would be left halfway.
    """

    def __init__(self):
        self._trial = None
        # Called at once, because the current batch may take too long.
        self.on_ask = None
        self.waits_for_workers = False
        self._main = threading.main_thread().ident
        signal.signal(signal.SIGUSR1, self._on_signal)

    def ask(self, trial):
        self._trial = trial
        if self.on_ask is not None:
            _guarded(self.on_ask)  # the trial may end at the same time
        signal.pthread_kill(self._main, signal.SIGUSR1)

    def asked(self, trial):
        return self._trial == trial

    def _on_signal(self, _signal, _frame):
        if self.waits_for_workers:
            self.waits_for_workers = False
            raise Stopped


class Trial:
    def __init__(self, number, setting, source, device, step, channel, stop, folder):
        self._number = number
        self._setting = setting
        self._source = source
        self._channel = channel
        self._stop = stop
        self._folder = folder
        self._started_ns = 0
        self._batches = 0
        self._wait_ns = 0
        self._iterator = None
        # Times batches made without workers.
        self._clock = None
        # The loop's phase, which tells failures apart.
        self._doing = faults.STARTING
        self._consumer = device.consumer(setting, step, self)
        self._usage = Usage()

    def run(self):
        """Sends arrivals, then "ending" with all results, then "ended" when the workers have ended."""
        failure = None
        self._channel.collect_from(lambda: _guarded(self._consumer.collect))
        self._stop.on_ask = lambda: self._channel.send("sums", trial=self._number, figures=self._means())
        try:
            try:
                self._loop()
                self._consumer.finish()
            finally:
                self._stop.waits_for_workers = False
        except Stopped:
            _guarded(self._consumer.finish)
        except BaseException as error:  # includes SystemExit, which a data set may raise
            doing = faults.STEPPING if self._consumer.is_in_step else self._doing
            failure = faults.describe(error, doing, self._setting, self._batches, workers.of(self._iterator))
            # Waits for earlier batches to arrive; a failing device raises here too.
            _guarded(self._consumer.finish)
        source, pids = self._source, workers.pids_of(self._iterator)
        figures = self._means()
        figures.update(
            _guarded(lambda: self._usage.summary(self._batches, pids, source.epoch_batches(), source.batch_size)) or {}
        )
        if source.is_iterable:
            figures["sampleCopies"] = workers.sample_copies(self._folder, pids)
        self._channel.flush_arrivals()
        self._channel.collect_from(None)
        self._stop.on_ask = None
        self._channel.send("ending", trial=self._number, failure=failure, figures=figures)
        # Frees the last batches before the next trial.
        self._consumer = None
        _guarded(lambda: workers.end(self._iterator, _GRACE_SECONDS))
        self._iterator = None
        self._channel.send("ended", trial=self._number)

    def _loop(self):
        setting = self._setting
        self._consumer.start()
        self._started_ns = time.perf_counter_ns()
        loader = self._source.loader(
            setting["numWorkers"], setting["pinMemory"], setting["prefetchFactor"], setting["persistentWorkers"]
        )
        self._iterator = iter(loader)
        has_workers = setting["numWorkers"] > 0
        if not has_workers:
            self._clock = workers.time_own(self._iterator)
        pids = workers.pids_of(self._iterator)
        while not self._stop.asked(self._number):
            self._doing = faults.LOADING
            before = time.perf_counter_ns()
            self._stop.waits_for_workers = has_workers
            if self._stop.asked(self._number):
                return  # requested before the signal could interrupt the wait
            try:
                batch = next(self._iterator)
            except StopIteration:
                raise faults.DataEnded from None
            self._stop.waits_for_workers = False
            self._wait_ns += time.perf_counter_ns() - before
            self._doing = faults.COPYING
            self._batches += 1
            self._consumer.take(batch)
            # Frees the batch while the next one is fetched, like a training loop that reuses the name.
            del batch
            self._usage.sample(self._batches, pids)

    def arrived(self, ns):
        """Called by the consumer, like `expect`."""
        self._channel.arrived(ns - self._started_ns)

    def expect(self):
        self._channel.expect()

    def _means(self):
        """Mean times of a batch; None before the first one."""
        made = workers.figures(self._folder, workers.pids_of(self._iterator), self._clock)
        sums = {
            "waitNsPerBatch": (self._wait_ns, self._batches),
            "copyNsPerBatch": (self._consumer.copy_ns, self._batches),
            "makeNsPerBatch": (made["makeNs"], made["made"]),
            "collateNsPerBatch": (made["collateNs"], made["collated"]),
            "handOverNsPerBatch": (made["handOverNs"], made["handedOver"]),
        }
        means = {name: ns / batches if batches > 0 else None for name, (ns, batches) in sums.items()}
        return {name: ns for name, ns in means.items() if ns is not None or name[:4] in ("wait", "copy", "make")}


def _guarded(action):
    try:
        return action()
    except Exception:
        return None
