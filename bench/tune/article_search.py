"""The search for num_workers and pin_memory that articles recommend, rewritten as a baseline for `pinbench tune`.

It tries num_workers 0, 4, 8 ... 2 * cores until one is not faster, then up to three fewer and three more than the best.
It does so with pin_memory False, then True, and picks the fastest pair. It times a new DataLoader's `epochs` passes of
`batches` batches, with the start and the end of workers, but without a copy to the GPU. As in the articles, it skips
the second step if no setting was slower, and a tie goes to pinned memory.

    python3 article_search.py --target bench/tune/datasets.py:cheap_sample --batch-size 64
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import sys
import time

from torch.utils.data import DataLoader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", required=True, help="FILE.py:FUNCTION that makes the Dataset")
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--batches", type=int, default=15)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    dataset = load_target(options.target)()

    def seconds_of(num_workers, pin_memory):
        # As in the articles: a new loader per setting, workers that restart each epoch, and shuffling.
        started = time.perf_counter()
        loader = DataLoader(
            dataset, batch_size=options.batch_size, shuffle=True, num_workers=num_workers, pin_memory=pin_memory
        )
        for _ in range(options.epochs):
            # Fetches at least one batch. The articles' loops fetch one more than they use; this one does not.
            for number, _ in enumerate(loader, 1):
                if number >= options.batches:
                    break
        return time.perf_counter() - started

    started = time.perf_counter()
    picks, evaluations = search(seconds_of, multiprocessing.cpu_count())
    took = time.perf_counter() - started
    print(json.dumps({"picks": picks, "evaluations": evaluations, "took_s": round(took, 3)}))


def search(seconds_of, cores):
    evaluations = []
    best = {}
    for pin_memory in (False, True):

        def is_faster(num_workers):
            seconds = seconds_of(num_workers, pin_memory)
            evaluations.append({"num_workers": num_workers, "pin_memory": pin_memory, "seconds": round(seconds, 4)})
            if pin_memory in best and best[pin_memory][0] <= seconds:
                return False
            best[pin_memory] = (seconds, num_workers)
            return True

        for num_workers in range(0, 2 * cores + 1, 4):
            if not is_faster(num_workers):
                coarse = best[pin_memory][1]
                for neighbour in (*range(max(0, coarse - 3), coarse), *range(coarse + 1, coarse + 4)):
                    is_faster(neighbour)
                break
    pin_memory = best[True][0] <= best[False][0]
    return {"num_workers": best[pin_memory][1], "pin_memory": pin_memory}, evaluations


def load_target(target):
    """The function named by FILE.py:FUNCTION. Its module stays importable, so that workers that are not forked can
    unpickle samples."""
    path, _, name = target.rpartition(":")
    module_name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return getattr(module, name)


if __name__ == "__main__":
    main()
