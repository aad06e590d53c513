import { type BackendName, steadyMemories } from "../settings/choices.js";
import { median, robustDeviation } from "../stats/order-statistics.js";
import { mean, squaresAboutMean, sumOf } from "../stats/variance.js";
import type { CellComparison } from "./comparison.js";

/** Figures of one side by session, as logarithms of speed. No session is empty. */
export type BySession = readonly (readonly number[])[];

/** The mean over sessions of each session's median. */
export function levelOf(sessions: BySession): number {
  return mean(sessions.map((session) => median(session)));
}

/** Standard deviations of the logarithm of speed, assumed until there are enough runs and sessions. */
interface Prior {
  name: string;
  betweenSessions: number;
  betweenRuns: number;
}

/** The assumed noise: the prior, and the variance that a run's own samples add. */
export interface Assumed {
  prior: Prior;
  ofSamples: number;
}

interface Noise {
  betweenSessions: number;
  betweenRuns: number;
}

/** A prior weighs as much as this many sessions or runs. */
const priorWeight = 4;

/**
 * The noise of a baseline: each variance is the mean of the prior's (with a weight of four) and the baseline's. Except
 * for a constant, that is the posterior mean under a scaled inverse chi-squared prior (A. Gelman et al., "Bayesian Data
 * Analysis", section 2.6). Between sessions, it is the variance of their medians; between runs, that around the
 * session's median, from the median absolute deviation, which outliers do not affect.
 */
export function noiseOf(baseline: BySession, { prior, ofSamples }: Assumed): Noise {
  const medians = baseline.map((session) => median(session));
  // One or two runs are too few to estimate a deviation.
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

/** Minimum number of runs in a session to estimate the noise between runs. */
export const fewestRuns = 3;

/** Variance of a median of normal values, relative to one value's; for one or two values, that of the mean. */
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
 * Prior for copies by the device alone: pinned groups of three machines of a cloud, measured within an hour, had
 * standard deviations of 0.1 to 0.4 % (sessions.json and sessions-quick.json of results/nvidia-h200).
 */
const deviceCopies: Prior = { name: "pinned", betweenSessions: 0.004, betweenRuns: 0.004 };
const deviceLatency: Prior = { name: "pinned latency", betweenSessions: 0.02, betweenRuns: 0.02 };

/**
 * Prior for copies that need the CPU or host memory: recorded machines differed by 6 to 13 %, and one
 * machine's sessions should differ less. Several sessions in a baseline outweigh it.
 */
const cpuCopies: Prior = { name: "copies by the CPU", betweenSessions: 0.05, betweenRuns: 0.05 };

/** The same, relative to the speed of host memory: 3.8 % in these recordings (root mean square). */
export const besideHost: Prior = {
  name: "relative to host memory",
  betweenSessions: 0.04,
  betweenRuns: 0.05,
};

type Copies = Pick<CellComparison, "memory" | "mode" | "beside" | "blockWay">;

/** Whether a cell's copies need the CPU, or run during a load. */
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
