import type { HookMessageOf } from "../../../src/tune/live/live-messages.js";
import { LoaderRecord } from "../../../src/tune/live/loader-record.js";

/** What hooks tell, in milliseconds. */

export const ms = (value: number) => value * 1e6;

export function loaderOf({
  loader = 1,
  untouchable = null as string | null,
  epochBatches = null as number | null,
} = {}): LoaderRecord {
  const setting = { numWorkers: 0, pinMemory: false, prefetchFactor: null, persistentWorkers: false };
  return new LoaderRecord({
    ...{ type: "loader", loader, setting, source: "Samples", batchSize: 4, epochBatches, untouchable },
  });
}

export const firstBatch = (loader = 1): HookMessageOf<"batch"> => ({
  ...{ type: "batch", loader, samples: 4, bytes: 256, tensors: 1, description: "float32 [4, 16]" },
  ...{ onDevice: false, device: null, pinningOff: null, fileLimit: null, filesInUse: null },
});

export const epoch = (event: "begin" | "end", atMs: number): HookMessageOf<"epoch"> => ({
  ...{ type: "epoch", loader: 1, event, epoch: 0, ns: ms(atMs) },
});

export const changed = (change: number, atMs: number): HookMessageOf<"changed"> => ({
  ...{ type: "changed", loader: 1, change, atBatch: 0, ns: ms(atMs) },
});

/** Batches at these times, each waited for so long. */
export const batches = (
  change: number,
  atMs: readonly number[],
  { waitMs = 1, grad = true } = {},
): HookMessageOf<"batches"> => ({
  ...{
    type: "batches",
    loader: 1,
    change,
    grad,
    made: atMs.length,
    makeNs: 0,
    workers: [],
    discarded: false,
  },
  ns: atMs.map(ms),
  waitNs: atMs.map(() => ms(waitMs)),
});

/** So many times from `first` on, `step` apart. */
export const every = (step: number, first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index * step);
