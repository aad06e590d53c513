import type { ProbeRecord, TrialRecord } from "../results/tuning.js";

/**
 * Smallest share of a trial's bytes that makes storage part of its rate: a file holds a sample in fewer bytes than its
 * batch does.
 */
const notableShare = 0.02;
/** Fewer bytes come from Python's own modules. */
const notableBytes = 8 * 2 ** 20;

/**
 * Whether files came from storage in a trial, so that its rate does not apply to reads from the page cache. Every byte
 * from storage counts in the model, which has no Python to load. False if the kernel does not count.
 */
export function readsStorage(
  { arrivalsNs, storageReadBytes }: Pick<TrialRecord, "arrivalsNs" | "storageReadBytes">,
  { batch, fileBytesPerBatch }: Pick<ProbeRecord, "batch" | "fileBytesPerBatch">,
): boolean {
  const least = fileBytesPerBatch == null ? notableBytes : 0;
  const bytes = arrivalsNs.length * (fileBytesPerBatch ?? batch.bytes);
  return (storageReadBytes ?? 0) > Math.max(least, notableShare * bytes);
}
