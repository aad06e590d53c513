import { batchesInFlight } from "../results/loader-setting.js";
import type { LoaderSetting, ProbeRecord, TrialRecord, Tuning, TuningScore } from "../results/tuning.js";
import { studentQuantile } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
import { mean } from "../stats/variance.js";

/** The score by which settings are compared: the document's, with 0 and infinity for unknown ends. */
export type Score = { [Key in keyof TuningScore]: NonNullable<TuningScore[Key]> };

/**
 * The score of a setting: that of its steady state. A trial that `ended` before its steady state gets a rough score.
 * Null if there are too few batches.
 */
export function scoreOf(
  arrivalsNs: readonly number[],
  setting: LoaderSetting,
  ended: boolean,
  dropped = droppedBatches(setting),
): Score | null {
  const cycle = cycleBatches(setting);
  const settled = steadyState(arrivalsNs, dropped, cycle);
  const isSettled = settled !== null && Number.isFinite(settled.high);
  const steady = isSettled || !ended ? settled : roughState(arrivalsNs, cycle);
  if (steady === null) return null;
  const { batchesPerSecond, low, high } = steady;
  return { batchesPerSecond, low, high, isSettled };
}

/**
 * The rate without a steady state: whole cycles in the second half of the batches, but at most the rate since the
 * loader's start, because the first batches of many workers arrive together. Its interval is open, because batches made
 * ahead say little about later ones. Null if a worker has not delivered yet.
 */
function roughState(arrivalsNs: readonly number[], cycle: number): SteadyState | null {
  const count = arrivalsNs.length;
  if (count < Math.max(2, cycle)) return null;
  const durationNs = arrivalsNs.at(-1)!;
  if (!(durationNs > 0)) return null;
  const sinceStart = (count / durationNs) * 1e9;
  const cycles = Math.floor(count / 2 / cycle);
  const half = steadyState(arrivalsNs, count - cycles * cycle, cycle);
  const batchesPerSecond = Math.min(sinceStart, half?.batchesPerSecond ?? Number.POSITIVE_INFINITY);
  return { batchesPerSecond, low: 0, high: Number.POSITIVE_INFINITY, batches: count, cycles, durationNs };
}

/**
 * Share of the time for a batch that the loop waited for it; null if unknown. A trial with only its first batches, such
 * as a job's first, counts only if there is no other.
 */
export function waitingShare({ trials, score }: Tuning["tried"][number]): number | null {
  const steady = trials.filter(({ arrivalsNs, droppedBatches }) => arrivalsNs.length > droppedBatches);
  const waits = (steady.length === 0 ? trials : steady).flatMap(({ waitNsPerBatch }) => waitNsPerBatch ?? []);
  if (waits.length === 0 || score === null) return null;
  return Math.min(1, (median(waits) * score.batchesPerSecond) / 1e9);
}

/**
 * The spread of rates between trials of the same setting, due to the machine's state and to where the loader's memory
 * lies.
 */
export interface TrialSpread {
  /** Standard deviation of a trial's rate, relative to the setting's. */
  relative: number;
  /** Degrees of freedom; a real number, because the prior counts as a few trials. */
  degreesOfFreedom: number;
}

/** The prior deviation before any setting was tried twice, and the number of repeated trials that it counts as. */
const assumed: TrialSpread = { relative: 0.02, degreesOfFreedom: 3 };

/** A trial further from the others of its setting than this, in standard deviations, was disturbed. */
const disturbed = 3;

/** From a median absolute deviation to the standard deviation of normal values: 1 / 0.6745. */
const perMedianDeviation = 1.4826;

/** Fewest trials whose median represents them, so that a single disturbed one has no effect. */
const leastForMedian = 3;

/** The spread between trials of one setting, pooled over all settings, each given by its trials' scores. */
export function trialSpread(settings: readonly (readonly Score[])[]): TrialSpread {
  let squares = assumed.degreesOfFreedom * assumed.relative ** 2;
  let degreesOfFreedom = assumed.degreesOfFreedom;
  for (const scores of settings) {
    // Rough figures differ because their trials were cut off at different times.
    const rates = scores.filter(({ isSettled }) => isSettled).map(({ batchesPerSecond }) => batchesPerSecond);
    if (rates.length < 2) continue;
    const middle = centre(rates);
    const deviations = rates.map((rate) => Math.abs(rate / middle - 1));
    const most = disturbed * Math.max(perMedianDeviation * median(deviations), assumed.relative);
    squares += deviations.reduce((sum, deviation) => sum + Math.min(deviation, most) ** 2, 0);
    degreesOfFreedom += rates.length - 1;
  }
  return { relative: Math.sqrt(squares / degreesOfFreedom), degreesOfFreedom };
}

/**
 * The combined score of all trials of a setting; null without any. A rough figure of a trial that was cut off adds
 * nothing to settled ones. A single trial keeps its own interval, without the spread between trials. Several trials get
 * an interval from that spread, which contains at least half of their rates. It has an open end if one of them has, as
 * rough figures do.
 */
export function pooledScore(scores: readonly Score[], spread: TrialSpread): Score | null {
  const trials = comparable(scores);
  if (trials.length < 2) return trials[0] ?? null;
  const rates = trials.map(({ batchesPerSecond }) => batchesPerSecond);
  const batchesPerSecond = centre(rates);
  const { isSettled } = trials[0]!;
  if (!trials.every(({ high }) => Number.isFinite(high))) {
    const low = Math.min(...trials.map((trial) => trial.low));
    return { batchesPerSecond, low, high: Number.POSITIVE_INFINITY, isSettled };
  }
  const ownHalf = median(trials.map(relativeHalf));
  const variance = Math.max(spread.relative ** 2, (ownHalf / 2) ** 2) / trials.length;
  const { factor, quantile } = medianLoss(trials.length, spread);
  const apart = median(rates.map((rate) => Math.abs(rate - batchesPerSecond)));
  const half = Math.max(apart, batchesPerSecond * factor * quantile * Math.sqrt(variance));
  return {
    batchesPerSecond,
    low: Math.max(0, batchesPerSecond - half),
    high: batchesPerSecond + half,
    isSettled,
  };
}

/**
 * Relative half-width of the 95 % interval of a setting's rate, including the spread between trials, even for a single
 * one.
 */
export function uncertainty(score: Score, trials: number, spread: TrialSpread): number {
  const half = relativeHalf(score);
  return trials > 1 ? half : Math.hypot(half, medianLoss(1, spread).quantile * spread.relative);
}

/** The standard error of a median of normal values is up to sqrt(pi / 2) times that of their mean. */
function medianLoss(trials: number, { degreesOfFreedom }: TrialSpread) {
  return {
    factor: trials < leastForMedian ? 1 : Math.sqrt(Math.PI / 2),
    quantile: studentQuantile(0.025, degreesOfFreedom),
  };
}

/** The scores that count for a setting: the settled ones, or the rough ones if there are no others. */
export function comparable(scores: readonly Score[]): readonly Score[] {
  const settled = scores.filter(({ isSettled }) => isSettled);
  return settled.length > 0 ? settled : scores;
}

function relativeHalf({ low, high, batchesPerSecond }: Score): number {
  return (high - low) / 2 / batchesPerSecond;
}

function centre(rates: readonly number[]): number {
  return rates.length < leastForMedian ? mean(rates) : median(rates);
}

interface SteadyState {
  batchesPerSecond: number;
  /** The interval's ends; 0 and infinity with too few batches. */
  low: number;
  high: number;
  /** Number of timed batches after the dropped ones, in whole cycles. */
  batches: number;
  cycles: number;
  durationNs: number;
}

/**
 * Batches made ahead before the clock starts arrive as fast as they can be copied. Twice as many as may be in flight
 * are dropped, because they make many workers look fast in a short run. At least four cycles are dropped: workers that
 * started together wait for the slowest until they have fallen out of step. At most half of an epoch of a running job,
 * because a short one has no batches beyond its start.
 */
export function droppedBatches(setting: LoaderSetting, jobEpochBatches: number | null = null): number {
  const half = Math.max(1, Math.floor((jobEpochBatches ?? Number.POSITIVE_INFINITY) / 2));
  return Math.min(half, Math.max(2 * batchesInFlight(setting), 4 * setting.numWorkers));
}

/**
 * Batches of a cycle: one from each worker. Workers that started together deliver in bursts with gaps. A span from the
 * end of one burst into the next has the gap without all of the batches.
 */
export function cycleBatches({ numWorkers }: LoaderSetting): number {
  return Math.max(1, numWorkers);
}

/**
 * Numbers of blocks of consecutive cycles whose times are compared: one cycle each, or more if there are many. Below
 * the least there is no interval, and so no steady state.
 */
const blocks = { least: 4, most: 10 };

/**
 * Smallest relative half-width. A loop that hardly waits has gaps as even as its step, but a second of it may lack the
 * rare slow batches that empty its queue. In the simulated loaders of test/tune/estimator.test.ts these take up to 1 %
 * of the rate, and 3 % in the worst one.
 */
const leastHalfWidth = 0.01;

/**
 * The rate after the first `dropped` batches (at least 1) over whole cycles of `cycle` batches, by the method of batch
 * means (Law, "Simulation Modeling and Analysis", section 9.5.3): single gaps depend on each other, because workers
 * deliver in bursts, but the times of blocks of whole cycles hardly do. A rhythm longer than a block widens the
 * interval, so that measuring continues. Null until one cycle is timed.
 */
export function steadyState(
  arrivalsNs: readonly number[],
  dropped: number,
  cycle: number,
): SteadyState | null {
  const cycles = Math.floor((arrivalsNs.length - dropped) / cycle);
  if (cycles < 1) return null;
  // The clock starts when the last dropped batch arrives.
  const endsNs = Array.from({ length: cycles + 1 }, (_, index) => arrivalsNs[dropped - 1 + index * cycle]!);
  const durationNs = endsNs[cycles]! - endsNs[0]!;
  if (!(durationNs > 0)) return null;
  const batches = cycles * cycle;
  const batchesPerSecond = (batches / durationNs) * 1e9;
  const relative = relativeHalfWidth(endsNs);
  return {
    batchesPerSecond,
    low: batchesPerSecond / (1 + relative),
    high: relative < 1 ? batchesPerSecond / (1 - relative) : Number.POSITIVE_INFINITY,
    batches,
    cycles,
    durationNs,
  };
}

/**
 * Relative half-width of the mean time of a cycle, from the times when cycles end; infinite with too few. All cycles
 * are in a block: a late one would otherwise count for the rate but not for its interval. Blocks that differ by a cycle
 * are compared by the time beyond their share of the whole (a ratio estimate: Cochran, "Sampling Techniques", section
 * 6.3).
 */
function relativeHalfWidth(endsNs: readonly number[]): number {
  const cycles = endsNs.length - 1;
  if (cycles < blocks.least) return Number.POSITIVE_INFINITY;
  const count = Math.min(blocks.most, cycles);
  const durationNs = endsNs[cycles]! - endsNs[0]!;
  const end = (block: number) => Math.floor((block * cycles) / count);
  let squares = 0;
  for (let block = 0; block < count; ++block) {
    const [from, to] = [end(block), end(block + 1)];
    squares += (endsNs[to]! - endsNs[from]! - ((to - from) / cycles) * durationNs) ** 2;
  }
  const standardError = Math.sqrt((squares * count) / (count - 1)) / durationNs;
  return Math.hypot(quantileFor(count - 1) * standardError, leastHalfWidth);
}

const quantiles = new Map<number, number>();

/** Student's t for a 95 % interval, cached because it is needed whenever batches arrive. */
function quantileFor(degreesOfFreedom: number): number {
  const known = quantiles.get(degreesOfFreedom) ?? studentQuantile(0.025, degreesOfFreedom);
  quantiles.set(degreesOfFreedom, known);
  return known;
}

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
