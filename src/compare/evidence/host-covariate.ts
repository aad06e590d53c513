import { controlledMemories } from "../../settings/choices.js";
import { median } from "../../stats/order-statistics.js";
import { mean, sumOf } from "../../stats/variance.js";
import { logSpeeds, type RunFigure, type Series } from "../series.js";
import { type HostSlope, recordedHostSlopes } from "./occasion-noise.js";

/**
 * The host's memory as a control. The CPU takes part in pageable and staged copies, and its speed changes with other
 * use of the host's memory. Every run also times the CPU's own copies of the same buffers (cells of kind `host`). The
 * part of a change that these explain is no change of the copies to the GPU. The method is analysis of covariance with
 * the logarithm of the host's rate as covariate.
 */

/** A series without the part that the host's memory explains. All figures are logarithms of speed. */
export interface ControlledSeries {
  /** One entry for each run, in the order of the series. The baseline keeps its mean. */
  baseline: number[];
  first: number[];
  fresh: number[];
  /** The explained part of the change over all of the candidate's runs; null without a control. */
  explained: HostPart | null;
  /** The same for the fresh runs alone; null without any. */
  explainedOfFresh: HostPart | null;
}

/** The part of a change that the host's memory explains. */
export interface HostPart {
  /** Change of the logarithm of speed. */
  change: number;
  /** Variance of `change`, because the slope is an estimate. */
  variance: number;
}

/** Prior of a slope: uniform between 0 and 1. */
const openSlope: HostSlope = { slope: 1 / 2, variance: 1 / 12 };

/**
 * Variance of the cells' slopes about their kind's: 0.3 to 0.55 squared between the recorded occasions on an H200
 * (results/nvidia-h200/occasions.json; `node bench/regress/recorded-occasions.mjs` prints it).
 */
const slopeScatter = 0.15;

/** Fewest degrees of freedom over processes for estimating a slope; below, the recorded slope is used. */
const fewestDegrees = 3;

/**
 * Whether the host's own copies apply to a cell: they are timed cold and one after the other, as its copies must be.
 */
export function isControlledByHost({ memory, mode, cache }: Series["cell"]): boolean {
  return controlledMemories.includes(memory) && mode === "throughput" && cache === "cold";
}

/** Whether all runs of a series have the host's own copies, and these apply to it. */
export function hasControl(series: Series): boolean {
  return isControlledByHost(series.cell) && hasHostSpeeds(series);
}

/** Whether all runs of a series have the host's own copies. */
export function hasHostSpeeds({ baseline, first, fresh }: Series): boolean {
  return [...baseline, ...first, ...fresh].every(({ hostLogSpeed }) => hostLogSpeed !== null);
}

/**
 * Removes the host's part from the series of one kind (`kindOf()`); series without a control stay as they are.
 * `errorVariance` is that of the host's rate in one run: `JoinedRuns.hostErrorVariance`.
 */
export function controlForHost(
  series: readonly Series[],
  kind: string,
  errorVariance: number,
): ControlledSeries[] {
  const prior = recordedHostSlopes[kind] ?? openSlope;
  const slope = estimateSlope(series.filter(hasControl), prior, errorVariance);
  return series.map((one) => (hasControl(one) ? controlled(one, slope) : uncontrolled(one)));
}

function uncontrolled(series: Series): ControlledSeries {
  const logs = (figures: readonly RunFigure[]) => logSpeeds(series, figures);
  return {
    baseline: logs(series.baseline),
    first: logs(series.first),
    fresh: logs(series.fresh),
    explained: null,
    explainedOfFresh: null,
  };
}

function controlled(series: Series, { slope, variance }: HostSlope): ControlledSeries {
  const reference = mean(series.baseline.map(hostOf));
  const without = (figures: readonly RunFigure[]) =>
    logSpeeds(series, figures).map((logSpeed, i) => logSpeed - slope * (hostOf(figures[i]!) - reference));
  const partOf = (figures: readonly RunFigure[]) => {
    const hostChange = mean(figures.map(hostOf)) - reference;
    return { change: slope * hostChange, variance: (variance + slopeScatter) * hostChange ** 2 };
  };
  return {
    baseline: without(series.baseline),
    first: without(series.first),
    fresh: without(series.fresh),
    explained: partOf([...series.first, ...series.fresh]),
    explainedOfFresh: series.fresh.length === 0 ? null : partOf(series.fresh),
  };
}

function hostOf({ hostLogSpeed }: RunFigure): number {
  return hostLogSpeed!;
}

/** Largest share of the host rate's variance that may count as error; more would make the slope noise. */
const mostError = 0.6;

/**
 * The slope of a kind: least squares over processes about the mean of their side, corrected for the error in the host's
 * rate (W. A. Fuller, "Measurement Error Models", 1987, section 1.2), then the mean with the prior, weighted by
 * certainty and limited to 0 to 1. A process counts once, with the median over its cells, because the host affects all
 * of them.
 */
export function estimateSlope(series: readonly Series[], prior: HostSlope, errorVariance: number): HostSlope {
  const sides = [processes(series, "baseline"), processes(series, "first")].filter(
    ({ length }) => length > 1,
  );
  const all = sides.flat();
  const degreesOfFreedom = all.length - sides.length - 1;
  const squares = sumOf(all.map(({ host }) => host ** 2));
  if (degreesOfFreedom < fewestDegrees || squares === 0) return prior;
  const error = Math.min(mostError * squares, errorVariance * (all.length - sides.length));
  const slope = sumOf(all.map(({ host, own }) => host * own)) / (squares - error);
  const residual = sumOf(all.map(({ host, own }) => (own - slope * host) ** 2)) / degreesOfFreedom;
  const variance = Math.max((residual * squares) / (squares - error) ** 2, Number.EPSILON);
  const weight = 1 / variance + 1 / prior.variance;
  const posterior = (slope / variance + prior.slope / prior.variance) / weight;
  return { slope: Math.min(1, Math.max(0, posterior)), variance: 1 / weight };
}

/** Each process's values of its kind and of the host, relative to the means over the side. */
function processes(series: readonly Series[], side: "baseline" | "first"): { host: number; own: number }[] {
  const length = Math.max(0, ...series.map((one) => one[side].length));
  // A cell that some runs lack cannot be compared across runs.
  const cells = series
    .filter((one) => one[side].length === length)
    .map((one) => {
      const logs = logSpeeds(one, one[side]);
      const hosts = one[side].map(hostOf);
      return logs.map((log, run) => ({ host: hosts[run]! - mean(hosts), own: log - mean(logs) }));
    });
  return Array.from({ length }, (_, run) => ({
    host: median(cells.map((cell) => cell[run]!.host)),
    own: median(cells.map((cell) => cell[run]!.own)),
  }));
}
