import type { MeasureRequest, MeasureResult, NativeError } from "../native/contract.js";
import { wholeBlocks } from "../plan/blocks.js";
import {
  arenaKind,
  computeNs,
  mostChunks,
  mostCopiesOfSample,
  type PlannedCell,
  strideBytes,
} from "../plan/geometry.js";
import type { Stopping } from "../plan/plan.js";
import {
  calibrationCopies,
  copiesPerSample,
  extraSamples,
  leastSamples,
  samplesOfRound,
  warmup,
} from "../plan/sampling.js";
import { idWithoutDevice } from "../results/cell-id.js";
import { besides, type Verifying } from "../settings/choices.js";
import { groupBy } from "../stats/group-by.js";
import { variesTooMuch } from "../stats/order-statistics.js";
import type { CellProgress } from "./cell-progress.js";

/** A visit of a cell: its progress, and the request to measure. */
export interface Visit {
  progress: CellProgress;
  request: MeasureRequest;
  /** Only measures the duration of a copy, for planning samples. */
  isCalibration: boolean;
}

/** Measures cells of simultaneous visits; resolves with their results in order. */
export type Measure = (visits: readonly Visit[]) => Promise<PromiseSettledResult<MeasureResult>[]>;

/** Cells that are measured simultaneously, usually one. Either all are open or none. */
type ConcurrentCells = readonly CellProgress[];

/** Events of a run, for showing or storing it. */
export type RunEvent =
  /** An activity other than measuring begins: "opening device 0". */
  | { kind: "activity"; activity: string }
  /** A cell will now be measured, in this round (from 0). */
  | { kind: "visit"; progress: CellProgress; round: number }
  /** A round has ended: every open cell within the budget has been visited. */
  | { kind: "round"; round: number };

export type RoundEvent = Exclude<RunEvent, { kind: "activity" }>;

export interface RoundOptions {
  plan: { stopping: Omit<Stopping, "isHard">; settings: { verify: Verifying } };
  budgetNs: number;
  signal: AbortSignal;
  /** Whether to end cells that cannot come near the precision in the remaining time (no). */
  givesUp?: boolean;
  /** After this time, cells get no first samples either (never). */
  endMs?: number;
}

/** The rounds of a stage so far, to continue with its next cells. */
export interface RoundsSoFar {
  /** The next round. */
  round: number;
  rotation: Rotation;
}

/**
 * Measures cells in interleaved rounds: first the minimum number of samples for every cell, then more for cells with
 * wide intervals, as long as `budgetNs` lasts and, with `givesUp`, the precision is within reach. After an
 * abort, cells keep their results. A sticky error fails its cell and skips all remaining ones.
 */
export async function* measureInRounds(
  measure: Measure,
  cells: readonly CellProgress[],
  { plan, budgetNs, signal, givesUp = false, endMs = Number.POSITIVE_INFINITY }: RoundOptions,
  soFar: RoundsSoFar = { round: 0, rotation: new Rotation() },
): AsyncGenerator<RoundEvent, void> {
  const deadlineMs = performance.now() + budgetNs / 1e6;
  const { precision, samplesPerCell } = plan.stopping;
  const { verify } = plan.settings;
  const sets = concurrentCells(cells);
  // Cells without device memory have failed already.
  for (const together of sets) endConcurrent(together);
  for (; ; ++soFar.round) {
    const { round, rotation } = soFar;
    let visits = 0;
    for (const together of byLoad(orderOfVisits(sets, precision))) {
      const [first] = together as [CellProgress];
      const least = leastSamples(first.cell.mode, samplesPerCell);
      const missing = least - first.taken;
      const samples =
        missing > 0 ? samplesOfRound(least, missing) : extraSamples(first.cell.mode, samplesPerCell);
      const leftNs = (deadlineMs - performance.now()) * 1e6;
      const isAffordable =
        missing > 0 ? performance.now() < endMs : samples * first.visitNsPerSample <= leftNs;
      if (samples === 0 || !isAffordable) continue;
      // One outlier among the first samples proves nothing yet.
      if (givesUp && first.taken > least && isHopeless(together, precision, leftNs)) {
        for (const progress of together) progress.outcome = "budget";
        continue;
      }

      ++visits;
      yield { kind: "visit", progress: first, round };
      await measureConcurrent(measure, together, rotation, { samples, round, verify });
      if (signal.aborted) return;
      const lost = together.find(({ error }) => error?.sticky);
      if (lost !== undefined) {
        skipOpenCells(cells, lost);
        break;
      }
      if (isOpen(together) && first.taken >= least && halfWidthOf(together) <= precision) {
        for (const progress of together) progress.outcome = "converged";
      }
    }
    if (visits === 0) return;
    yield { kind: "round", round };
    if (signal.aborted) return;
  }
}

/** Groups `together` cells that differ only in the device: they are measured at the same time. */
function concurrentCells(cells: readonly CellProgress[]): ConcurrentCells[] {
  const keyOf = ({ cell }: CellProgress) => (cell.together === undefined ? cell.id : idWithoutDevice(cell));
  return [...groupBy(cells, keyOf).values()];
}

function isOpen(together: ConcurrentCells): boolean {
  return together.every((progress) => progress.isOpen);
}

/** The widest interval of the cells counts. */
function halfWidthOf(together: ConcurrentCells): number {
  return Math.max(...together.map(({ halfWidth }) => halfWidth));
}

/** Intervals narrow with the square root of the number of samples. */
function isHopeless(together: ConcurrentCells, precision: number, leftNs: number): boolean {
  const { taken, visitNsPerSample } = together[0]!;
  const width = halfWidthOf(together) / Math.sqrt(1 + leftNs / (taken * visitNsPerSample));
  return variesTooMuch(width, precision);
}

interface VisitOptions {
  samples: number;
  round: number;
  verify: Verifying;
}

/** A failed cell records its error, and ends the cells that are measured at the same time. */
async function measureConcurrent(
  measure: Measure,
  together: ConcurrentCells,
  rotation: Rotation,
  options: VisitOptions,
): Promise<void> {
  for (const progress of together) {
    if (progress.copiesPerSample > 0) continue;
    const calibration = calibrationOf(progress);
    const [settled] = await measure([calibration]);
    if (!takeCalibration(calibration, settled!, options.verify)) return endConcurrent(together);
  }
  const startedNs = performance.now() * 1e6;
  const firstBuffers = together.map(({ cell }) => rotation.firstBuffer(cell));
  const results = await measure(
    together.map((progress, i) => ({
      progress,
      request: requestOf(progress, firstBuffers[i]!, options),
      isCalibration: false,
    })),
  );
  const visitNs = performance.now() * 1e6 - startedNs;
  for (const [i, progress] of together.entries()) {
    const result = resultOf(progress, results[i]!);
    if (result === null) continue;
    rotation.advance(progress.cell, firstBuffers[i]!, options.samples * progress.copiesPerSample);
    progress.add(result, options.round);
    progress.visitNsPerSample = visitNs / options.samples;
  }
  endConcurrent(together);
}

/** Cells that are measured at the same time end at the same time. */
function endConcurrent(together: ConcurrentCells): void {
  const ended = together.find((progress) => !progress.isOpen);
  if (ended === undefined) return;
  const { id, device } = ended.cell;
  for (const progress of together) {
    if (progress.isOpen) {
      progress.markSkipped(
        `device ${device}, which is measured at the same time, ended with ${ended.error?.code ?? ended.outcome} in ${id}`,
      );
    }
  }
}

/** The result of a cell. Null after a failure, which the cell records, or an abort: its data is not verified. */
function resultOf(
  progress: CellProgress,
  settled: PromiseSettledResult<MeasureResult>,
): MeasureResult | null {
  if (settled.status === "fulfilled") return settled.value.aborted ? null : settled.value;
  const error: NativeError = settled.reason;
  if (error.code !== "ABORTED") progress.fail(error);
  return null;
}

/**
 * The open cells, in the plan's order until all have an interval. Then the ones that will converge soonest come first,
 * so that as many as possible converge. Intervals narrow with the square root of the number of samples.
 */
function orderOfVisits(sets: readonly ConcurrentCells[], precision: number): ConcurrentCells[] {
  const open = sets.filter(isOpen);
  if (open.some((together) => halfWidthOf(together) === Number.POSITIVE_INFINITY)) return open;
  const costNs = (together: ConcurrentCells) =>
    together[0]!.taken * together[0]!.visitNsPerSample * ((halfWidthOf(together) / precision) ** 2 - 1);
  return open.sort((a, b) => costNs(a) - costNs(b));
}

/** Orders cells so that each load starts once per round. */
function byLoad(sets: readonly ConcurrentCells[]): ConcurrentCells[] {
  const rank = ([first]: ConcurrentCells) => besides.indexOf(first!.cell.beside ?? "none");
  return sets.toSorted((a, b) => rank(a) - rank(b));
}

/** Skips all open cells after this one lost the context. */
export function skipOpenCells(cells: readonly CellProgress[], failed: CellProgress): void {
  const reason = `the context was lost with ${failed.error?.code} in ${failed.cell.id}`;
  for (const progress of cells) if (progress.isOpen) progress.markSkipped(reason);
}

/** Largest copy while calibrating: enough to show the rate, and quick. */
const calibrationBytes = 4 * 1024 * 1024;

/**
 * The common fields of a cell's requests with this copy size. A smaller copy gets a proportional part of the pipeline's
 * work.
 */
function routeOf({ cell }: CellProgress, sizeBytes: number) {
  const { direction, memory, workers, mode, cache, chunks, blockBytes, blockWay: way } = cell;
  const route = { direction, memory, sizeBytes, workers, mode, cache };
  if (blockBytes !== undefined && way !== undefined) return { ...route, blocks: { bytes: blockBytes, way } };
  if (chunks === undefined) return route;
  const pipeline = {
    chunks: Math.min(chunks, mostChunks(sizeBytes)),
    computeNs: computeNs({ sizeBytes }),
  };
  return { ...route, pipeline };
}

/**
 * A request to measure the duration of a copy, which determines the copies per sample. It counts as no sample and
 * verifies nothing: it rewrites what the buffers hold already.
 */
function calibrationOf(progress: CellProgress): Visit {
  const { mode, buffersPerWorker } = progress.cell;
  const sizeBytes = wholeBlocks(progress.cell, calibrationBytes);
  const request: MeasureRequest = {
    ...routeOf(progress, sizeBytes),
    buffers: Math.min(buffersPerWorker, 2),
    firstBuffer: 0,
    warmupCopies: 1,
    warmupBytes: sizeBytes,
    copiesPerSample: calibrationCopies({ mode, sizeBytes }),
    samples: 2,
    verify: "none",
    readLink: false,
  };
  return { progress, request, isCalibration: true };
}

/** Stores the duration of a copy and the copies per sample. Returns false without a result. */
function takeCalibration(
  { progress, request }: Visit,
  settled: PromiseSettledResult<MeasureResult>,
  verify: Verifying,
): boolean {
  const result = resultOf(progress, settled);
  if (result === null) return false;
  const { cell } = progress;
  const fastestNs = Math.max(...result.columns.map(({ durationNs }) => Math.min(...durationNs)));
  progress.copyNs = (fastestNs / request.copiesPerSample) * (cell.sizeBytes / request.sizeBytes);
  progress.copiesPerSample = Math.min(
    copiesPerSample(cell, progress.copyNs),
    mostCopiesOfSample(cell, verify),
  );
  return true;
}

function requestOf(progress: CellProgress, firstBuffer: number, options: VisitOptions): MeasureRequest {
  const { cell } = progress;
  return {
    ...routeOf(progress, cell.sizeBytes),
    buffers: cell.buffersPerWorker,
    firstBuffer,
    ...warmup(cell, progress.copyNs),
    copiesPerSample: progress.copiesPerSample,
    samples: options.samples,
    verify: options.verify,
    // The link is idle if only host memory is copied. Between two devices, the other one's link may be used.
    readLink: progress.link === null && cell.memory !== "host" && cell.peer === undefined,
  };
}

/**
 * The start of the next visit in each arena. Cells of all sizes continue where the previous one stopped in the same
 * memory; otherwise a cell could find data in the cache that another one has just copied there.
 */
export class Rotation {
  readonly #nextBytes = new Map<string, number>();

  /** The first buffer in the cell's rotation. */
  firstBuffer(cell: PlannedCell): number {
    const next = this.#nextBytes.get(arenaOf(cell)) ?? 0;
    return Math.ceil(next / strideBytes(cell.sizeBytes)) % cell.buffersPerWorker;
  }

  /** Must be called after every visit, with the number of copies per worker. */
  advance(cell: PlannedCell, firstBuffer: number, copies: number): void {
    const end = (firstBuffer + copies) % cell.buffersPerWorker;
    this.#nextBytes.set(arenaOf(cell), end * strideBytes(cell.sizeBytes));
  }
}

/** The arena's name; sessions of devices and worker processes have separate arenas. */
function arenaOf({ device, memory, workerKind, cpuNode, memoryNode }: PlannedCell): string {
  const kind = memory === "device" ? "device" : arenaKind(memory);
  return [device, workerKind ?? "thread", kind, cpuNode, memoryNode].join("/");
}
