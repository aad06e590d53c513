import type { TrialRecord } from "../results/tuning.js";

/** Of a trial's bytes, a share from which on storage is part of its rate: files hold a sample in fewer bytes than its batch. */
const notableShare = 0.02;
/** Less is Python's own modules. */
const notableBytes = 8 * 2 ** 20;

/**
 * Whether files came from storage in a trial, which then is no measure of what another one gets from the page cache.
 * `batchBytes`: of a batch, or of the files of its samples where these are known. False where nothing is known.
 */
export function readsStorage(
  { arrivalsNs, storageReadBytes }: Pick<TrialRecord, "arrivalsNs" | "storageReadBytes">,
  batchBytes: number,
): boolean {
  return (storageReadBytes ?? 0) > Math.max(notableBytes, notableShare * arrivalsNs.length * batchBytes);
}
