import type { ProbeRecord, TrialRecord } from "../results/tuning.js";

/** Of a trial's bytes, a share from which on storage is part of its rate: files hold a sample in fewer bytes than its batch. */
const notableShare = 0.02;
/** Less is Python's own modules. */
const notableBytes = 8 * 2 ** 20;

/**
 * Whether files came from storage in a trial, which then is no measure of what another one gets from the page cache. What
 * files have is known of the model alone, which has no Python to load. False where the kernel does not count.
 */
export function readsStorage(
  { arrivalsNs, storageReadBytes }: Pick<TrialRecord, "arrivalsNs" | "storageReadBytes">,
  { batch, fileBytesPerBatch }: Pick<ProbeRecord, "batch" | "fileBytesPerBatch">,
): boolean {
  const least = fileBytesPerBatch == null ? notableBytes : 0;
  const bytes = arrivalsNs.length * (fileBytesPerBatch ?? batch.bytes);
  return (storageReadBytes ?? 0) > Math.max(least, notableShare * bytes);
}
