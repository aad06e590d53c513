import { setTimeout as sleep } from "node:timers/promises";
import type { MeasuringTurn } from "../host/device-sharing.js";
import { memoryAvailableBytes } from "../host/memory.js";
import type { NativeError } from "../native/contract.js";
import { formatDuration, formatSize, formatSizeRounded, MiB } from "../settings/units.js";
import type { PinningLimit, PinningStalls } from "./pinning-document.js";
import { isOfSize, PoolBench } from "./pool-bench.js";
import { PoolObservations } from "./pool-observations.js";
import { leastPoolBytes, poolShapes } from "./pool-shapes.js";
import type { PreparedPools } from "./prepare-pools.js";
import { largestAmount } from "./refusal-reason.js";

export interface MeasurePoolsOptions
  extends Pick<MeasuringTurn<PreparedPools>, "prepared" | "signal" | "onActivity"> {
  /** On the clock of performance.now(): nothing starts that would probably end later. */
  endMs: number;
}

/** A limit without its likely reason, which the caller adds. */
type MetLimit = Omit<PinningLimit, "reason">;

/** Maximum number of measurements per pool: enough for a median and a range. */
const mostRounds = 5;

/**
 * Maximum share of the remaining time for a round: of all methods of a size, or else of those within `contenderRatio`
 * of the fastest.
 */
const roundShare = 0.5;
const contenderRatio = 1.5;

/** Maximum share of available memory for a pool. */
const shareOfAvailable = 0.9;

/** Maximum number of amounts to try; they find a limit within 0.2 % of the refused amount, or better. */
const mostTries = 10;

/** How long calls are timed while nothing is pinned. */
const quietMs = 1000;

/** Sizes of pieces that servers pin one after the other. */
const pieceSizesBytes = [1, 16, 64, 256, 1024].map((size) => size * MiB);

/** Maximum memory pinned in pieces. */
const mostInPiecesBytes = 1024 * MiB;

/** Methods compared for pieces: one call that does everything, and registering existing pages. */
const watchedWays = ["host-alloc", "register"] as const;

/**
 * Measures all pools once, small ones first, to learn how long large ones take. Then repeats all methods of a
 * size, or else its fastest ones, in turns, while there is time. Results can be read while measure() runs.
 */
export class PoolMeasurement {
  readonly pools: readonly PoolObservations[];
  readonly limits: MetLimit[] = [];
  error: { code: string; message: string } | null = null;
  readonly omitted: string[] = [];
  /** Late answers to this process' own calls; null if not measured. */
  stalls: PinningStalls | null = null;
  readonly #options: MeasurePoolsOptions;
  #bench: PoolBench | null = null;

  constructor(options: MeasurePoolsOptions) {
    this.#options = options;
    const { sizesBytes, resources, request } = options.prepared;
    this.pools = sizesBytes.flatMap((sizeBytes) =>
      poolShapes(sizeBytes, resources, request.threads).map(
        (shape) => new PoolObservations(sizeBytes, shape),
      ),
    );
  }

  /** Resolves when everything is measured, time is up, the device fails, or the signal is aborted. */
  async measure(): Promise<void> {
    const { prepared, signal, onActivity } = this.#options;
    const { backend, devices, placement, request, root } = prepared;
    const [{ ordinal: device }] = devices;
    try {
      onActivity("opening the device");
      this.#bench = await PoolBench.open({ driver: backend.driver, device, placement, signal }, root);
      if (signal.aborted) return;
      await this.#bench.warmUp(placement.threads);
      await this.#firstRound();
      if (request.stalls) await this.#watchCalls();
      await this.#furtherRounds();
    } catch (error) {
      if (signal.aborted) return;
      const { code, message } = error as NativeError;
      // Other errors than the driver's or the system's are bugs.
      if (typeof code !== "string") throw error;
      this.error = { code, message };
    } finally {
      await this.#bench?.close();
    }
  }

  async #firstRound(): Promise<void> {
    for (const sizeBytes of this.#options.prepared.sizesBytes) {
      // The slowest come last, because time may run out.
      const pools = this.pools.filter((pool) => pool.sizeBytes === sizeBytes);
      const expected = pools.map((pool) => ({ pool, aboutMs: this.#aboutMs(pool) }));
      // With equal estimates, more threads come first: they are usually faster.
      expected.sort((a, b) => a.aboutMs - b.aboutMs || b.pool.shape.threads - a.pool.shape.threads);
      for (const { pool, aboutMs } of expected) {
        this.#options.signal.throwIfAborted();
        if (!this.#isRefusedAlready(pool) && this.#fits(pool, aboutMs)) await this.#attempt(pool);
      }
    }
  }

  /** Measures how long calls wait. A failure loses only these figures. */
  async #watchCalls(): Promise<void> {
    const bytes = Math.min(
      mostInPiecesBytes,
      Math.max(0, ...this.pools.filter(({ isMeasured }) => isMeasured).map(({ sizeBytes }) => sizeBytes)),
    );
    if (bytes === 0) return;
    const { signal, onActivity } = this.#options;
    onActivity("calls while nothing is pinned");
    try {
      const quiet = await this.#bench!.watchCalls(async () => {
        await sleep(quietMs, undefined, { signal });
        return async () => undefined;
      });
      this.stalls = { quiet, pieces: [] };
      for (const pieceBytes of pieceSizesBytes.filter((size) => bytes % size === 0)) {
        for (const way of watchedWays) {
          this.#options.signal.throwIfAborted();
          if (this.#leftMs() <= 0) return this.#omit(`${callWaits} beside larger pieces: no time was left`);
          onActivity(`${formatSize(bytes)} by ${way} in pieces of ${formatSize(pieceBytes)}, beside calls`);
          this.stalls.pieces.push(await this.#bench!.pinInPieces(way, bytes, pieceBytes));
        }
      }
    } catch (error) {
      const { code, message, sticky } = error as NativeError;
      if (signal.aborted || typeof code !== "string" || sticky) throw error;
      this.#omit(`${callWaits}: ${message}`);
    }
  }

  /** Repeats large sizes first, because the recommendation is for the largest. */
  async #furtherRounds(): Promise<void> {
    for (const sizeBytes of this.#options.prepared.sizesBytes.toReversed()) {
      const measured = this.pools.filter((pool) => pool.sizeBytes === sizeBytes && pool.isMeasured);
      const best = Math.min(...measured.map(({ obtainNs }) => obtainNs));
      const contenders = measured.filter(({ obtainNs }) => obtainNs <= best * contenderRatio);
      for (let round = 1; round < mostRounds; ++round) {
        const repeated = [measured, contenders].find((some) => msOf(some) <= this.#leftMs() * roundShare);
        if (repeated === undefined) break;
        // In alternating order, so that no method always follows the same one.
        for (const pool of round % 2 === 0 ? repeated : repeated.toReversed()) {
          this.#options.signal.throwIfAborted();
          if (pool.error !== null) continue;
          const tooLittle = this.#tooLittleMemory(pool);
          if (tooLittle === null) await this.#attempt(pool);
          else this.#omit(`${formatSize(sizeBytes)} by ${pool.id} once more: ${tooLittle}`);
        }
      }
    }
  }

  async #attempt(pool: PoolObservations): Promise<void> {
    const { sizeBytes, shape } = pool;
    const startedMs = performance.now();
    this.#options.onActivity(`${formatSize(sizeBytes)} by ${pool.id}`);
    try {
      const sample = await this.#bench!.measure(sizeBytes, shape);
      pool.samples.push(sample);
      pool.roundMs = Math.max(pool.roundMs ?? 0, performance.now() - startedMs);
      if (sample.copyError !== null) {
        this.#omit(`copies of pools of ${formatSize(sizeBytes)}: ${sample.copyError}`);
      }
    } catch (error) {
      const { code, message, sticky } = error as NativeError;
      if (this.#options.signal.aborted || typeof code !== "string") throw error;
      if (sticky) {
        pool.reason = `the device failed: ${message}`;
        throw error;
      }
      pool.error = { code, message };
      pool.reason = code === "NO_HUGE_PAGES" ? tooFewHugePages : message;
      if (pool.isMeasured) this.#omit(`${formatSize(sizeBytes)} by ${pool.id} once more: ${message}`);
      else if (isOfSize(error as NativeError) && code !== "NO_HUGE_PAGES") await this.#findLimit(pool);
    }
  }

  /** Finds the largest amount after a refusal, once per method. */
  async #findLimit({ sizeBytes, shape, error }: PoolObservations): Promise<void> {
    if (this.limits.some(({ way }) => way === shape.way)) return;
    const known = this.pools.filter((pool) => pool.isMeasured && pool.shape.way === shape.way);
    let msPerByte = 0;
    const found = await largestAmount({
      refusedBytes: sizeBytes,
      knownBytes: Math.max(0, ...known.map((pool) => pool.sizeBytes).filter((bytes) => bytes < sizeBytes)),
      unitBytes: leastPoolBytes,
      mostTries,
      mayTry: (bytes) => msPerByte * bytes < this.#leftMs(),
      tryAmount: async (bytes) => {
        this.#options.signal.throwIfAborted();
        this.#options.onActivity(`how much can be allocated by ${shape.way}: ${formatSizeRounded(bytes)}`);
        const startedMs = performance.now();
        const isGranted = await this.#bench!.canObtain(bytes, shape);
        if (isGranted) msPerByte = (performance.now() - startedMs) / bytes;
        return isGranted;
      },
    });
    if (found !== null) this.limits.push({ ...shape, ...found, error: error! });
  }

  #isRefusedAlready(pool: PoolObservations): boolean {
    const refused = this.pools.find(
      (other) => other.error !== null && other.sizeBytes < pool.sizeBytes && other.id === pool.id,
    );
    if (refused === undefined) return false;
    pool.reason = `${formatSize(refused.sizeBytes)} was refused`;
    return true;
  }

  /** Estimated time, in proportion to a smaller pool; 0 if unknown. */
  #aboutMs({ id, sizeBytes }: PoolObservations): number {
    const smaller = this.pools
      .filter((pool) => pool.id === id && pool.sizeBytes < sizeBytes && pool.roundMs !== null)
      .at(-1);
    return smaller === undefined ? 0 : (smaller.roundMs! * sizeBytes) / smaller.sizeBytes;
  }

  #fits(pool: PoolObservations, aboutMs: number): boolean {
    const leftMs = this.#leftMs();
    if (leftMs <= 0 || aboutMs > leftMs) {
      pool.reason =
        aboutMs === 0
          ? "no time was left"
          : `it would take about ${formatDuration(aboutMs * 1e6)}, and ${leftMs > 0 ? `${formatDuration(leftMs * 1e6)} was` : "no time was"} left`;
      return false;
    }
    const tooLittle = this.#tooLittleMemory(pool);
    if (tooLittle !== null) pool.reason = tooLittle;
    return tooLittle === null;
  }

  /** Why a pool exceeds the available memory; null if it fits. */
  #tooLittleMemory({ sizeBytes }: PoolObservations): string | null {
    const availableBytes = memoryAvailableBytes(this.#options.prepared.root);
    if (sizeBytes <= availableBytes * shareOfAvailable) return null;
    return `only ${formatSizeRounded(availableBytes, Math.floor)} of memory was available`;
  }

  #omit(text: string): void {
    if (!this.omitted.includes(text)) this.omitted.push(text);
  }

  #leftMs(): number {
    return this.#options.endMs - performance.now();
  }
}

/** Name of the call timing, in notes on what was skipped. */
const callWaits = "how long calls wait";

const tooFewHugePages =
  "hugetlbfs has too few free pages: root writes their number, 512 for each GiB, to /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

function msOf(pools: readonly PoolObservations[]): number {
  return pools.reduce((sum, { roundMs }) => sum + (roundMs ?? 0), 0);
}
