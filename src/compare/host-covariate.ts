import { controlledMemories } from "../settings/choices.js";
import { median } from "../stats/order-statistics.js";
import { mean } from "../stats/variance.js";
import { type HostSlope, recordedHostSlopes } from "./recorded-occasions.js";
import { logSpeeds, type RunFigure, type Series } from "./series.js";

/**
 * The host's memory as a control. The CPU has a part in pageable and staged copies, and is slower or faster with
 * whatever else uses the host's memory at that minute. Every run also times the CPU's own copies of the same buffers
 * (the cells of kind `host`): what these explain of a change is no change of the copies to the GPU. It is analysis of
 * covariance with the logarithm of the host's rate as the covariate.
 */

/** A series without what the host's memory explains. All figures are logarithms of speed. */
export interface ControlledSeries {
  /** An entry a run, in the order of the series. The baseline keeps its mean. */
  baseline: number[];
  first: number[];
  fresh: number[];
  /** What the host's memory explains of the change of all of the candidate's runs; null where there is no control. */
  explained: number | null;
  /** Of `explained`, as the slope is an estimate. */
  explainedVariance: number;
}

/** Nothing is known of a slope: it lies anywhere between 0 and 1. */
const openSlope: HostSlope = { slope: 1 / 2, variance: 1 / 12 };

/**
 * Variance of the slopes of a kind's cells about the kind's: 0.28 squared, between the occasions that were recorded on an
 * H200 (results/nvidia-h200/occasions.json, of which `node bench/regress/recorded-occasions.mjs` prints this and the next).
 */
const slopeScatter = 0.08;

/**
 * How much of the variance of the host's rate between processes its cells have in common. The rest is the error of its
 * measurement, which takes as much from a slope over single processes; over the means of occasions next to nothing.
 */
const reliability = 0.7;

/** With fewer processes than this beyond the means of their groups, a slope is left to the recordings. */
const fewestDegrees = 3;

/** Takes the host's memory out of the series of one kind of memory; leaves those that have no control as they are. */
export function controlForHost(series: readonly Series[], memory: string): ControlledSeries[] {
  const isControlled = (one: Series) =>
    controlledMemories.includes(memory) &&
    [...one.baseline, ...one.first, ...one.fresh].every(({ hostLogSpeed }) => hostLogSpeed !== null);
  const slope = estimateSlope(series.filter(isControlled), recordedHostSlopes[memory] ?? openSlope);
  return series.map((one) => (isControlled(one) ? controlled(one, slope) : uncontrolled(one)));
}

function uncontrolled(series: Series): ControlledSeries {
  const logs = (figures: readonly RunFigure[]) => logSpeeds(series, figures);
  return {
    baseline: logs(series.baseline),
    first: logs(series.first),
    fresh: logs(series.fresh),
    explained: null,
    explainedVariance: 0,
  };
}

function controlled(series: Series, { slope, variance }: HostSlope): ControlledSeries {
  const reference = mean(series.baseline.map(hostOf));
  const without = (figures: readonly RunFigure[]) =>
    logSpeeds(series, figures).map((logSpeed, i) => logSpeed - slope * (hostOf(figures[i]!) - reference));
  const hostChange = mean([...series.first, ...series.fresh].map(hostOf)) - reference;
  return {
    baseline: without(series.baseline),
    first: without(series.first),
    fresh: without(series.fresh),
    explained: slope * hostChange,
    explainedVariance: (variance + slopeScatter) * hostChange ** 2,
  };
}

function hostOf({ hostLogSpeed }: RunFigure): number {
  return hostLogSpeed!;
}

/**
 * The slope of a kind: least squares over processes, each about the mean of its group (an occasion of the baseline, or
 * the candidate's first runs), corrected for the error in the host's rate, then the mean with the prior, weighted by their certainty, and held between 0 and 1. A
 * process counts once, with the median over its cells: they share what the host does to them, and are not independent.
 */
export function estimateSlope(series: readonly Series[], prior: HostSlope): HostSlope {
  const groups = processGroups(series).map((group) => {
    const centre = { host: mean(group.map(({ host }) => host)), own: mean(group.map(({ own }) => own)) };
    return group.map(({ host, own }) => ({ host: host - centre.host, own: own - centre.own }));
  });
  const processes = groups.flat();
  const degreesOfFreedom = processes.length - groups.length - 1;
  const squares = sum(processes.map(({ host }) => host ** 2));
  if (degreesOfFreedom < fewestDegrees || squares === 0) return prior;
  const attenuated = sum(processes.map(({ host, own }) => host * own)) / squares;
  const residual = sum(processes.map(({ host, own }) => (own - attenuated * host) ** 2)) / degreesOfFreedom;
  const slope = attenuated / reliability;
  const variance = Math.max(residual / squares / reliability ** 2, Number.EPSILON);
  const weight = 1 / variance + 1 / prior.variance;
  const posterior = (slope / variance + prior.slope / prior.variance) / weight;
  return { slope: Math.min(1, Math.max(0, posterior)), variance: 1 / weight };
}

/** What each process says of its kind and of the host, in the groups in which they followed one another. */
function processGroups(series: readonly Series[]): { host: number; own: number }[][] {
  const occasions = Math.max(0, ...series.flatMap(({ baseline }) => baseline.map((run) => run.occasion + 1)));
  const groupsOf = (one: Series) => [
    ...Array.from({ length: occasions }, (_, i) => one.baseline.filter(({ occasion }) => occasion === i)),
    one.first,
  ];
  const byCell = series.map((one) =>
    groupsOf(one).map((group) => {
      const logs = logSpeeds(one, group);
      return group.map((run, i) => ({
        host: hostOf(run) - mean(group.map(hostOf)),
        own: logs[i]! - mean(logs),
      }));
    }),
  );
  return (byCell[0] ?? []).flatMap((_, g) => {
    const length = Math.max(...byCell.map((groups) => groups[g]!.length));
    // A cell that some of the runs lack cannot be lined up with the others.
    const aligned = byCell.map((groups) => groups[g]!).filter((group) => group.length === length);
    if (length < 2) return [];
    return [
      Array.from({ length }, (_unused, run) => ({
        host: median(aligned.map((group) => group[run]!.host)),
        own: median(aligned.map((group) => group[run]!.own)),
      })),
    ];
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
