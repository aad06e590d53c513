import { batchesInFlight } from "../../results/loader-setting.js";
import type { LoaderSetting, ProbeRecord, TrialRecord, Tried, TuningScore } from "../../results/tuning.js";
import { studentQuantile } from "../../stats/hypothesis-tests.js";
import { median, robustDeviation } from "../../stats/order-statistics.js";
import type { TrialControl } from "../loader-probe.js";
import { constants } from "./constants.js";

/** A rate with its 95 % interval: the document's, with open ends as 0 and infinity. */
export type Score = { [Key in keyof TuningScore]: NonNullable<TuningScore[Key]> };

/** The score for a document, where an open end is null, because JSON has no infinity. */
export function toDocument({ batchesPerSecond, low, high, isSettled }: Score): TuningScore {
  return { batchesPerSecond, low: closedEnd(low), high: closedEnd(high), isSettled };
}

export function closedEnd(value: number): number | null {
  return Number.isFinite(value) && value > 0 ? value : null;
}

/** The rate and its interval, multiplied by `factor`. */
export function scaled({ batchesPerSecond, low, high, isSettled }: Score, factor: number): Score {
  return { batchesPerSecond: batchesPerSecond * factor, low: low * factor, high: high * factor, isSettled };
}

/** The rate of a trial's steady state; a rough one if it ended before. Null with too few batches. */
export function scoreOf(
  arrivalsNs: readonly number[],
  setting: LoaderSetting,
  dropped = droppedBatches(setting),
): Score | null {
  const cycle = cycleBatches(setting);
  const steady = steadyState(arrivalsNs, dropped, cycle);
  if (steady === null || !Number.isFinite(steady.high)) return roughScore(arrivalsNs, cycle);
  const { batchesPerSecond, low, high } = steady;
  return { batchesPerSecond, low, high, isSettled: true };
}

/**
 * The rate of a trial without a steady state: that of the second half, but at most the rate since the loader's start,
 * because batches made ahead arrive together. Its interval is open. Null until each worker has delivered.
 */
function roughScore(arrivalsNs: readonly number[], cycle: number): Score | null {
  const count = arrivalsNs.length;
  if (count < Math.max(2, cycle)) return null;
  const durationNs = arrivalsNs.at(-1)!;
  if (!(durationNs > 0)) return null;
  const cycles = Math.floor(count / 2 / cycle);
  const half = steadyState(arrivalsNs, count - cycles * cycle, cycle);
  const sinceStart = (count / durationNs) * 1e9;
  const batchesPerSecond = Math.min(sinceStart, half?.batchesPerSecond ?? sinceStart);
  return { batchesPerSecond, low: 0, high: Number.POSITIVE_INFINITY, isSettled: false };
}

/**
 * Number of first batches to ignore: twice the batches in flight, because those made ahead arrive as fast as copies
 * allow. At most half of a job's epoch, because a short epoch may have no batches after them.
 */
export function droppedBatches(setting: LoaderSetting, jobEpochBatches: number | null = null): number {
  const half = Math.max(1, Math.floor((jobEpochBatches ?? Number.POSITIVE_INFINITY) / 2));
  return Math.min(half, 2 * batchesInFlight(setting));
}

/** Batches in a cycle, one from each worker: workers that start together deliver in bursts. */
function cycleBatches({ numWorkers }: LoaderSetting): number {
  return Math.max(1, numWorkers);
}

interface SteadyState {
  batchesPerSecond: number;
  /** Ends of the interval; 0 and infinity with too few batches. */
  low: number;
  high: number;
  cycles: number;
  durationNs: number;
}

/**
 * The rate after the first `dropped` batches (at least 1) over whole cycles of `cycle` batches, by batch means (Law,
 * "Simulation Modeling and Analysis", section 9.5.3): single gaps are correlated, blocks of whole cycles hardly are.
 * Null before one cycle.
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
  const batchesPerSecond = ((cycles * cycle) / durationNs) * 1e9;
  const relative = relativeHalfWidth(endsNs);
  return {
    batchesPerSecond,
    low: batchesPerSecond / (1 + relative),
    high: relative < 1 ? batchesPerSecond / (1 - relative) : Number.POSITIVE_INFINITY,
    cycles,
    durationNs,
  };
}

/**
 * Relative half-width of the mean cycle time, from the times at which cycles end; infinite with too few. Blocks that
 * differ by a cycle are compared with their share of the whole (a ratio estimate: Cochran, "Sampling Techniques",
 * section 6.3).
 */
function relativeHalfWidth(endsNs: readonly number[]): number {
  const cycles = endsNs.length - 1;
  if (cycles < constants.leastCycles) return Number.POSITIVE_INFINITY;
  const count = Math.min(constants.mostBlocks, cycles);
  const durationNs = endsNs[cycles]! - endsNs[0]!;
  const end = (block: number) => Math.floor((block * cycles) / count);
  let squares = 0;
  for (let block = 0; block < count; ++block) {
    const [from, to] = [end(block), end(block + 1)];
    squares += (endsNs[to]! - endsNs[from]! - ((to - from) / cycles) * durationNs) ** 2;
  }
  const standardError = Math.sqrt((squares * count) / (count - 1)) / durationNs;
  return Math.hypot(studentQuantile95(count - 1) * standardError, constants.leastHalfWidth);
}

/** Student's t for a 95 % interval. */
const studentQuantile95 = (degreesOfFreedom: number) => studentQuantile(0.025, degreesOfFreedom);

/** Conditions that end a trial. */
export interface StoppingRule {
  /** A trial ends early if its whole interval is below the best one by more than this share; 1 for never. */
  tolerance: number;
  leastTimedNs: number;
  /** Exceeded if there are too few cycles for an interval. */
  mostTimedNs: number;
  /** Longest trial, from the loader's start. */
  mostNs: number;
}

export function stoppingRule(kind: ProbeRecord["kind"], budgetNs: number): StoppingRule {
  const { tolerance, leastTimedNs, mostTimedNs, exploringShare } = constants;
  const where = kind === "live" ? "live" : "alone";
  return {
    tolerance: tolerance[where],
    leastTimedNs,
    mostTimedNs: mostTimedNs[where],
    mostNs: (1 - exploringShare) * budgetNs,
  };
}

/**
 * The `enough` of a TrialControl for this setting. `best`: best score of earlier trials; `dropped`: number of ignored
 * first batches.
 */
export function enoughFor(
  setting: LoaderSetting,
  rule: StoppingRule,
  best: Score | null,
  dropped = droppedBatches(setting),
): TrialControl["enough"] {
  return (arrivalsNs, elapsedNs = arrivalsNs.at(-1)!) => {
    if (elapsedNs >= rule.mostNs) return true;
    const steady = steadyState(arrivalsNs, dropped, cycleBatches(setting));
    if (steady === null || steady.durationNs < rule.leastTimedNs) return false;
    if (steady.durationNs >= rule.mostTimedNs) return Number.isFinite(steady.high);
    if (best !== null && steady.high < (1 - rule.tolerance) * best.low) return true;
    // Repeated looks find narrow intervals by chance, most often with few cycles.
    const isNarrow = steady.high <= (1 + constants.precision) * steady.batchesPerSecond;
    return isNarrow && steady.cycles >= constants.mostBlocks;
  };
}

/** The scores that count: rough ones only if there are no others. */
export function counted(scores: readonly (Score | null)[]): readonly Score[] {
  const known = scores.filter((score) => score !== null);
  const settled = known.filter(({ isSettled }) => isSettled);
  return settled.length > 0 ? settled : known;
}

/** Deviation between trials of one setting. */
export interface Deviation {
  /** Standard deviation of a trial's rate, relative to its setting's rate. */
  relative: number;
  degreesOfFreedom: number;
}

/** The deviation between trials of one setting, pooled over all settings; each is given by its trials' scores. */
export function deviationOf(settings: readonly (readonly Score[])[]): Deviation {
  const { assumedDeviation, turns } = constants;
  let squares = turns * assumedDeviation ** 2;
  let degreesOfFreedom: number = turns;
  for (const scores of settings) {
    const rates = scores.filter(({ isSettled }) => isSettled).map(({ batchesPerSecond }) => batchesPerSecond);
    if (rates.length < 2) continue;
    const middle = median(rates);
    const deviations = rates.map((rate) => Math.abs(rate / middle - 1));
    // Clips outliers at three standard deviations.
    const most = 3 * Math.max(robustDeviation(deviations), assumedDeviation);
    squares += deviations.reduce((sum, deviation) => sum + Math.min(deviation, most) ** 2, 0);
    degreesOfFreedom += rates.length - 1;
  }
  return { relative: Math.sqrt(squares / degreesOfFreedom), degreesOfFreedom };
}

/**
 * The score of a setting over its trials; null without any. One trial keeps its own interval. Several get one from the
 * deviation between trials, wide enough to include at least half of their rates.
 */
export function pooledScore(scores: readonly Score[], deviation: Deviation): Score | null {
  if (scores.length < 2) return scores[0] ?? null;
  const rates = scores.map((score) => score.batchesPerSecond);
  const batchesPerSecond = median(rates);
  const { isSettled } = scores[0]!;
  if (!isSettled) return { batchesPerSecond, low: 0, high: Number.POSITIVE_INFINITY, isSettled };
  const own = median(scores.map(relativeHalf)) / 2;
  const standardError = Math.max(deviation.relative, own) / Math.sqrt(scores.length);
  const half = batchesPerSecond * ofMedian(scores.length) * tOf(deviation) * standardError;
  const apart = median(rates.map((rate) => Math.abs(rate - batchesPerSecond)));
  const [low, high] = [batchesPerSecond - Math.max(half, apart), batchesPerSecond + Math.max(half, apart)];
  return { batchesPerSecond, low: Math.max(0, low), high, isSettled };
}

/**
 * Relative half-width of the 95 % interval of a rate, or of the ratio of two. Includes the deviation between trials,
 * even for one trial. `trials`: number of trials that count.
 */
export function uncertainty(
  rates: readonly { score: Score; trials: number }[],
  deviation: Deviation,
): number {
  return Math.hypot(
    ...rates.flatMap(({ score, trials }) => [
      relativeHalf(score),
      trials > 1 ? 0 : tOf(deviation) * deviation.relative,
    ]),
  );
}

const tOf = ({ degreesOfFreedom }: Deviation) => studentQuantile95(degreesOfFreedom);

/** Standard error of a median of normal values, relative to that of their mean; equal for two values. */
const ofMedian = (count: number) => (count < 3 ? 1 : Math.sqrt(Math.PI / 2));

function relativeHalf({ low, high, batchesPerSecond }: Score): number {
  return (high - low) / 2 / batchesPerSecond;
}

/** Mean number of busy workers at this rate; null if no batch was timed. */
export function busyWorkers(batchesPerSecond: number, trials: readonly TrialRecord[]): number | null {
  const makeNs = trials.flatMap((trial) => trial.makeNsPerBatch ?? []);
  return makeNs.length === 0 ? null : (median(makeNs) * batchesPerSecond) / 1e9;
}

/**
 * Share of a batch's time that the loop waited; null if unknown. Trials with only first batches, such as a job's first
 * trial, count only if there are no others.
 */
export function waitingShare({ trials, score }: Pick<Tried, "trials" | "score">) {
  const steady = trials.filter(({ arrivalsNs, droppedBatches }) => arrivalsNs.length > droppedBatches);
  const waits = (steady.length === 0 ? trials : steady).flatMap(({ waitNsPerBatch }) => waitNsPerBatch ?? []);
  if (waits.length === 0 || score === null) return null;
  return Math.min(1, (median(waits) * score.batchesPerSecond) / 1e9);
}

/**
 * Whether many of a trial's files came from storage, so that its rate does not hold for cached files. False if the
 * kernel does not count reads.
 */
export function readsStorage(
  { arrivalsNs, storageReadBytes }: Pick<TrialRecord, "arrivalsNs" | "storageReadBytes">,
  { batch, fileBytesPerBatch }: Pick<ProbeRecord, "batch" | "fileBytesPerBatch">,
): boolean {
  const bytes = arrivalsNs.length * (fileBytesPerBatch ?? batch.bytes);
  return (storageReadBytes ?? 0) > constants.precision * bytes;
}
