import type { NativeSession } from "../native/contract.js";
import { calibrationCopies, copiesPerSample, warmup } from "../plan/sampling.js";
import type { CellProgress } from "./cell-progress.js";
import type { Rotation } from "./rotation.js";

/** What one copy moves at most while calibrating: enough to tell the rate, and over soon. */
const calibrationBytes = 4 * 1024 * 1024;

/**
 * Finds out how long a copy takes and with it how many make a sample. Nothing of it is counted or verified (it
 * rewrites what the buffers hold already). False after an abort.
 */
export async function calibrate(session: NativeSession, progress: CellProgress): Promise<boolean> {
  const { cell } = progress;
  const sizeBytes = Math.min(cell.sizeBytes, calibrationBytes);
  const copies = calibrationCopies({ mode: cell.mode, sizeBytes });
  const result = await session.measure({
    direction: cell.direction,
    memory: cell.memory,
    sizeBytes,
    workers: cell.workers,
    mode: cell.mode,
    timer: cell.timer,
    cache: cell.cache,
    buffers: Math.min(cell.buffersPerWorker, 2),
    firstBuffer: 0,
    warmupCopies: 1,
    warmupBytes: sizeBytes,
    copiesPerSample: copies,
    samples: 2,
    verify: false,
    readLink: false,
  });
  if (result.aborted) return false;
  const fastestNs = Math.max(...result.columns.map(({ durationNs }) => Math.min(...durationNs)));
  progress.copyNs = (fastestNs / copies) * (cell.sizeBytes / sizeBytes);
  progress.copiesPerSample = copiesPerSample(cell, progress.copyNs);
  return true;
}

/** Measures `samples` more of a cell. False after an abort: what that call had measured is dropped unverified. */
export async function visit(
  session: NativeSession,
  progress: CellProgress,
  rotation: Rotation,
  options: { samples: number; round: number; verify: boolean },
): Promise<boolean> {
  const { cell } = progress;
  const startedNs = performance.now() * 1e6;
  const firstBuffer = rotation.firstBuffer(cell);
  const result = await session.measure({
    direction: cell.direction,
    memory: cell.memory,
    sizeBytes: cell.sizeBytes,
    workers: cell.workers,
    mode: cell.mode,
    timer: cell.timer,
    cache: cell.cache,
    buffers: cell.buffersPerWorker,
    firstBuffer,
    ...warmup(cell, progress.copyNs),
    copiesPerSample: progress.copiesPerSample,
    samples: options.samples,
    verify: options.verify,
    readLink: progress.link === null,
  });
  if (result.aborted) return false;
  rotation.advance(cell, firstBuffer, options.samples * progress.copiesPerSample);
  progress.add(result, options.round);
  progress.visitNsPerSample = (performance.now() * 1e6 - startedNs) / options.samples;
  return true;
}
