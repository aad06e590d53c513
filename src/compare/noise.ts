import { type BackendName, steadyMemories } from "../settings/choices.js";
import { median, robustDeviation } from "../stats/order-statistics.js";
import { mean, squaresAboutMean, sumOf } from "../stats/variance.js";
import type { CellComparison } from "./comparison.js";

/** Figures of one side by session: logarithms of speed. No session is empty. */
export type BySession = readonly (readonly number[])[];

/** The mean over sessions of each session's median. */
export function levelOf(sessions: BySession): number {
  return mean(sessions.map((session) => median(session)));
}

/** Standard deviations of the logarithm of speed that are assumed until enough runs and sessions show others. */
interface Prior {
  /** The copies that it is assumed of. */
  name: string;
  betweenSessions: number;
  betweenRuns: number;
}

/** What is assumed of the noise: the prior, and another variance between runs, of a run's own samples. */
export interface Assumed {
  prior: Prior;
  ofSamples: number;
}

interface Noise {
  betweenSessions: number;
  betweenRuns: number;
}

/** Number of sessions, or of runs, that a prior counts for. */
const priorWeight = 4;

/**
 * The noise of a baseline. Each variance is the mean of the prior's and the baseline's, the prior counting for four:
 * the posterior mean of a variance under a scaled inverse chi-squared prior, but for a constant (A. Gelman et al.,
 * "Bayesian Data Analysis", section 2.6). Between sessions it is of their medians; within, of the runs about their
 * session's median, from the median absolute deviation, which single slow runs leave alone.
 */
export function noiseOf(baseline: BySession, { prior, ofSamples }: Assumed): Noise {
  const medians = baseline.map((session) => median(session));
  // One run or two have no deviations of their own from a median.
  const repeated = baseline.filter(({ length }) => length >= fewestRuns);
  const deviations = repeated.flatMap((session) => {
    const middle = median(session);
    return session.map((value) => value - middle);
  });
  const ofRuns = deviations.length === 0 ? 0 : deviations.length * robustDeviation(deviations) ** 2;
  const degrees = deviations.length - repeated.length;
  return {
    betweenSessions:
      (priorWeight * prior.betweenSessions ** 2 + squaresAboutMean(medians)) /
      (priorWeight + medians.length - 1),
    betweenRuns: (priorWeight * prior.betweenRuns ** 2 + ofRuns) / (priorWeight + degrees) + ofSamples,
  };
}

/** Fewest runs of a session that show how far runs lie from their median. */
export const fewestRuns = 3;

/** Variance of the median of normal values over that of their mean; for two values or one they are the same. */
export const medianVariance = (count: number) => (count < fewestRuns ? 1 : Math.PI / 2) / count;

/** Standard error of the difference between the levels of two sides. */
export function standardError(
  { betweenSessions, betweenRuns }: Noise,
  ...sides: readonly BySession[]
): number {
  const variances = sides.map((sessions) => {
    const ofMedian = mean(sessions.map(({ length }) => medianVariance(length)));
    return (betweenSessions + betweenRuns * ofMedian) / sessions.length;
  });
  return Math.sqrt(sumOf(variances));
}

/**
 * What is assumed of copies that the device makes by itself. Between three machines of one cloud, measured within an
 * hour, pinned groups differed by 0.1 to 0.4 % (standard deviation; sessions.json and sessions-quick.json of
 * results/nvidia-h200).
 */
const deviceCopies: Prior = { name: "pinned", betweenSessions: 0.004, betweenRuns: 0.004 };
const deviceLatency: Prior = { name: "pinned latency", betweenSessions: 0.02, betweenRuns: 0.02 };

/**
 * What is assumed of copies in which the CPU or the host's memory takes part. The recorded machines differed by 6 to
 * 13 %; one machine's sessions are taken to be closer. A baseline of several sessions replaces the assumption.
 */
const cpuCopies: Prior = { name: "copies by the CPU", betweenSessions: 0.05, betweenRuns: 0.05 };

/** The same, of their speed relative to that of the host's memory: 3.8 % in the same recordings (root mean square). */
export const besideHost: Prior = {
  name: "relative to host memory",
  betweenSessions: 0.04,
  betweenRuns: 0.05,
};

type Copies = Pick<CellComparison, "memory" | "mode" | "beside" | "blockWay">;

/** Whether the CPU or another load of the host's memory takes part in a cell's copies. */
export function isCpuCopy(cell: Copies, backend: BackendName): boolean {
  const { memory, beside, blockWay } = cell;
  return (
    backend === "emulated" ||
    !steadyMemories.includes(memory) ||
    beside !== undefined ||
    blockWay === "gather"
  );
}

export function priorOf(cell: Copies, backend: BackendName): Prior {
  if (isCpuCopy(cell, backend)) return cpuCopies;
  return cell.mode === "latency" ? deviceLatency : deviceCopies;
}
