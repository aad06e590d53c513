import type { NativeError, NativeSession } from "../native/contract.js";
import type { Plan } from "../plan/plan.js";
import {
  calibrationCopies,
  copiesPerSample,
  extraSamples,
  leastSamples,
  samplesOfRound,
  warmup,
} from "../plan/sampling.js";
import type { CellProgress } from "./cell-progress.js";
import { Rotation } from "./rotation.js";

/** What happens in a run, for whoever wants to show or keep it. */
export type RunEvent =
  /** Something other than measuring begins, in words: "allocating memory". */
  | { kind: "activity"; activity: string }
  /** A cell is about to be measured, in this round (from 0). */
  | { kind: "visit"; progress: CellProgress; round: number }
  /** A round is over: every open cell that the budget allows has been visited. */
  | { kind: "round"; round: number };

/** The events of one device's rounds. */
type RoundEvent = Exclude<RunEvent, { kind: "activity" }>;

/** When cells have been measured enough, and what ends the rounds early. */
export interface RoundOptions {
  plan: Pick<Plan, "stopping"> & { settings: { verify: boolean } };
  budgetNs: number;
  signal: AbortSignal;
}

/**
 * Measures a device's cells in interleaved rounds: first the least samples of every cell, then more for those
 * whose interval is wider than asked for, while `budgetNs` lasts. Cells keep what they have when `signal` is aborted.
 * A sticky error fails its cell and skips all that are left.
 */
export async function* measureInRounds(
  session: NativeSession,
  cells: readonly CellProgress[],
  { plan, budgetNs, signal }: RoundOptions,
): AsyncGenerator<RoundEvent, void> {
  const deadlineMs = performance.now() + budgetNs / 1e6;
  const { precision, samplesPerCell } = plan.stopping;
  const { verify } = plan.settings;
  const rotation = new Rotation();
  for (let round = 0; ; ++round) {
    let visits = 0;
    for (const progress of orderOfVisits(cells, precision)) {
      const least = leastSamples(progress.cell.mode, samplesPerCell);
      const missing = least - progress.taken;
      const samples =
        missing > 0 ? samplesOfRound(least, missing) : extraSamples(progress.cell.mode, samplesPerCell);
      const leftNs = (deadlineMs - performance.now()) * 1e6;
      const isAffordable = missing > 0 || samples * progress.visitNsPerSample <= leftNs;
      if (samples === 0 || !isAffordable) continue;

      ++visits;
      yield { kind: "visit", progress, round };
      await measureCell(session, progress, rotation, { samples, round, verify });
      if (signal.aborted) return;
      if (progress.error?.sticky) {
        skipOpenCells(cells, progress);
        break;
      }
      if (progress.isOpen && progress.taken >= least && progress.halfWidth <= precision) {
        progress.outcome = "converged";
      }
    }
    if (visits === 0) return;
    yield { kind: "round", round };
    if (signal.aborted) return;
  }
}

/** A failure is the cell's own: it is recorded, and the others go on. */
async function measureCell(
  session: NativeSession,
  progress: CellProgress,
  rotation: Rotation,
  options: { samples: number; round: number; verify: boolean },
): Promise<void> {
  try {
    if (progress.copiesPerSample === 0 && !(await calibrate(session, progress))) return;
    await visit(session, progress, rotation, options);
  } catch (error) {
    if ((error as NativeError).code !== "ABORTED") progress.fail(error as NativeError);
  }
}

/**
 * The open cells: in the plan's order until all have an interval, then those first that converge soonest, so
 * that the budget brings as many as it can to the end. An interval narrows with the root of the sample count.
 */
function orderOfVisits(cells: readonly CellProgress[], precision: number): CellProgress[] {
  const open = cells.filter((progress) => progress.isOpen);
  if (open.some((progress) => progress.halfWidth === Number.POSITIVE_INFINITY)) return open;
  const costNs = (progress: CellProgress) =>
    progress.taken * progress.visitNsPerSample * ((progress.halfWidth / precision) ** 2 - 1);
  return open.sort((a, b) => costNs(a) - costNs(b));
}

function skipOpenCells(cells: readonly CellProgress[], failed: CellProgress): void {
  const reason = `the context was lost with ${failed.error?.code} in ${failed.cell.id}`;
  for (const progress of cells) if (progress.isOpen) progress.markSkipped(reason);
}

/** What one copy moves at most while calibrating: enough to tell the rate, and over soon. */
const calibrationBytes = 4 * 1024 * 1024;

/**
 * Finds out how long a copy takes and with it how many make a sample. Nothing of it is counted or verified (it
 * rewrites what the buffers hold already). False after an abort.
 */
async function calibrate(session: NativeSession, progress: CellProgress): Promise<boolean> {
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
    pipeline: null,
  });
  if (result.aborted) return false;
  const fastestNs = Math.max(...result.columns.map(({ durationNs }) => Math.min(...durationNs)));
  progress.copyNs = (fastestNs / copies) * (cell.sizeBytes / sizeBytes);
  progress.copiesPerSample = copiesPerSample(cell, progress.copyNs);
  return true;
}

/** Measures `samples` more of a cell. After an abort, what that call had measured is dropped unverified. */
async function visit(
  session: NativeSession,
  progress: CellProgress,
  rotation: Rotation,
  options: { samples: number; round: number; verify: boolean },
): Promise<void> {
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
    // Beside copies that the device has no part in, an idle link would be read.
    readLink: progress.link === null && cell.memory !== "host",
    pipeline: null,
  });
  if (result.aborted) return;
  rotation.advance(cell, firstBuffer, options.samples * progress.copiesPerSample);
  progress.add(result, options.round);
  progress.visitNsPerSample = (performance.now() * 1e6 - startedNs) / options.samples;
}
