"""Shared by the training scripts of this folder: their flags, and the summary that they print.

The last line of a script's output is one JSON object:
  batchesPerSecond   of one rank, over --seconds of steady running; null if the script ended before
  measuredBatches, measuredSeconds
  go                 what pinbench tune --go asks its hook for; null without it
  cpuMsPerBatch      CPU time of the training loop's thread per measured batch. If it differs between
                     runs of one loop, the CPU's speed differs.
"""

import argparse
import json
import os
import time

import torch
import torch.distributed as dist

# Reading the loss waits for the device, so times are taken only there.
BATCHES_BETWEEN_READINGS = 8


def flags(description, **defaults):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--num-workers", type=int, default=4)
    parser.add_argument("--pin-memory", action=argparse.BooleanOptionalAction, default=False)
    parser.add_argument("--prefetch-factor", type=int, default=2)
    parser.add_argument("--persistent-workers", action=argparse.BooleanOptionalAction, default=False)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--data", default=None, help="folder of the images, or of the token file")
    parser.add_argument("--seconds", type=float, default=20, help="of steady running, after which the script ends")
    parser.add_argument("--measure-after", default=None, metavar="FILE",
                        help="measure once this file is there, which holds {outstandingBatches, refillBatches, workers}")
    parser.add_argument("--whole-epochs", action="store_true", help="count whole epochs, from start to start")
    parser.add_argument("--tiny", action="store_true", help="a small model, for a machine without a GPU")
    parser.set_defaults(**defaults)
    return parser


def loader_settings(arguments):
    """Keyword arguments of a DataLoader."""
    settings = {"num_workers": arguments.num_workers, "pin_memory": arguments.pin_memory}
    if arguments.num_workers > 0:
        settings["prefetch_factor"] = arguments.prefetch_factor
        settings["persistent_workers"] = arguments.persistent_workers
    return settings


def is_main_rank():
    return not dist.is_initialized() or dist.get_rank() == 0


class TrainingRun:
    """The training loop reports epochs, batches and steps here. It decides when to end, and prints the summary.

    Counting starts in an epoch once the loader was filled twice. It then counts whole cycles only: each worker makes
    one batch per cycle, and these may arrive together. With --whole-epochs all batches count, from the start of the
    second epoch or, if later, of the first epoch after the file exists.
    """

    def __init__(self, arguments):
        self.seconds = arguments.seconds
        self.counts_whole_epochs = arguments.whole_epochs
        self.signal_file = arguments.measure_after
        self.workers = arguments.num_workers
        self.refill_batches = None
        if self.signal_file is None:
            self.refill_batches = 2 * arguments.num_workers * arguments.prefetch_factor + 8
        self.epochs = 0
        self.batches = 0
        self.refill_from = 0
        self.cycle_start = None
        self.measured_batches = 0
        self.measured_ns = 0
        self.measured_cpu_ns = 0

    def begin_epoch(self):
        self.refill_from = self.batches
        if self.counts_whole_epochs:
            self._measure_epoch()
        else:
            self.cycle_start = None

    def step(self, loss):
        """Call it after training on a batch. Returns whether to go on."""
        self.batches += 1
        if self.batches % BATCHES_BETWEEN_READINGS != 0:
            return True
        loss.item()
        self._measure(time.perf_counter_ns())
        return not self._first_rank_says(self.measured_ns >= self.seconds * 1e9)

    def end_epoch(self):
        self.epochs += 1

    def print_account(self):
        if not is_main_rank():
            return
        rate = self.measured_batches / (self.measured_ns / 1e9) if self.measured_ns > 0 else None
        account = {
            "batchesPerSecond": rate,
            "measuredBatches": self.measured_batches,
            "measuredSeconds": self.measured_ns / 1e9,
            "cpuMsPerBatch": self.measured_cpu_ns / 1e6 / max(1, self.measured_batches),
            "batches": self.batches,
            "go": os.environ.get("PINBENCH_TUNE_GO"),
        }
        print(json.dumps(account), flush=True)

    def _measure_epoch(self):
        if self.epochs == 0 or (self.refill_batches is None and not self._read_signal()):
            return
        now_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        if self.cycle_start is None:
            self.cycle_start = (self.batches, now_ns, cpu_ns)
        self.measured_batches = self.batches - self.cycle_start[0]
        self.measured_ns = now_ns - self.cycle_start[1]
        self.measured_cpu_ns = cpu_ns - self.cycle_start[2]

    def _measure(self, now_ns):
        if self.counts_whole_epochs:
            return
        if self.refill_batches is None and not self._read_signal():
            return
        if self.cycle_start is None:
            if self.batches - self.refill_from >= self.refill_batches:
                self.cycle_start = (self.batches, now_ns, time.thread_time_ns())
            return
        batches = self.batches - self.cycle_start[0]
        if batches % max(1, self.workers) == 0:
            self.measured_batches += batches
            self.measured_ns += now_ns - self.cycle_start[1]
            cpu_ns = time.thread_time_ns()
            self.measured_cpu_ns += cpu_ns - self.cycle_start[2]
            self.cycle_start = (self.batches, now_ns, cpu_ns)

    def _read_signal(self):
        if not os.path.exists(self.signal_file):
            return False
        with open(self.signal_file, encoding="utf-8") as file:
            signal = json.load(file)
        self.refill_batches = signal["refillBatches"]
        self.workers = signal["workers"]
        # Batches that were begun under the previous setting arrive first.
        self.refill_from = self.batches + signal["outstandingBatches"]
        return True

    def _first_rank_says(self, value):
        if not dist.is_initialized():
            return value
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        flag = torch.tensor(int(value), device=device)
        dist.broadcast(flag, 0)
        return bool(flag.item())
