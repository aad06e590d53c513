import { mean, robustVariance, winsorizedMoments } from "../../stats/variance.js";
import type { Series } from "../series.js";
import { estimateChange, type LogChange } from "./change-estimate.js";
import type { ControlledSeries, HostPart } from "./host-covariate.js";
import type { CellNoise } from "./noise.js";
import { betweenOccasions, fewestForOutliers, type OccasionNoise } from "./occasion-noise.js";

/**
 * What the runs say of one series, without what the host's memory explains. All figures are logarithms of speed: of
 * throughput, or of the inverse of latency.
 */
export interface Evidence {
  /** A figure for each run. */
  runs: ControlledSeries;
  /** Robust mean of the baseline's runs. */
  baseline: number;
  /** Robust mean of all of the candidate's runs. */
  candidate: number;
  /** Robust mean of the confirming runs alone; null where there are none. */
  fresh: number | null;
  /** Null where the noise between runs is not known. */
  noise: CellNoise | null;
  /**
   * The robust variance of one of the baseline's runs, by which slow runs of the candidate are told; null where that side
   * does not tell.
   */
  baselineVariance: number | null;
  /** Of the baseline's runs of its kind: `usualUnevenness()`. */
  usualUnevenness: number | null;
  /** How many of the baseline's runs each of its occasions has. */
  occasionRuns: number[];
  /** Null where the noise between occasions is not known. */
  occasionNoise: OccasionNoise | null;
  /** The change that all of the candidate's runs show; null without noise. */
  overall: LogChange | null;
  /** The p-values of `overall` after Holm's correction over all series; null without noise. */
  adjusted: { slower: number; faster: number } | null;
  /** The change that the confirming runs alone show; null without noise or without such runs. */
  confirmation: LogChange | null;
}

/**
 * The figures (one a run) of the baselines of some series, by the occasion on which they were measured. All series have
 * the same occasions; of one on which a series was not measured it has none.
 */
export function byOccasion(
  series: readonly Pick<Series, "baseline">[],
  figures: readonly (readonly number[])[],
): number[][][] {
  let occasions = 0;
  for (const { baseline } of series) {
    for (const { occasion } of baseline) occasions = Math.max(occasions, occasion + 1);
  }
  return series.map(({ baseline }, i) => {
    const groups = Array.from({ length: occasions }, (): number[] => []);
    for (const [run, { occasion }] of baseline.entries()) groups[occasion]!.push(figures[i]![run]!);
    return groups;
  });
}

/** The centres of those series that were measured on all occasions: others cannot be lined up with them. */
export function centresByOccasion(
  groups: readonly (readonly (readonly number[])[])[],
  noise: readonly (Pick<CellNoise, "robustVariance"> | null)[],
): number[][] {
  return groups.flatMap((occasions, i) =>
    occasions.every(({ length }) => length > 0) ? [occasions.map((group) => centreOf(group, noise[i]!))] : [],
  );
}

/** The centre of some runs' logarithms of speed: a winsorized mean, or their median where the noise is not known. */
export function centreOf(logs: readonly number[], noise: Pick<CellNoise, "robustVariance"> | null): number {
  return winsorizedMoments(logs, noise?.robustVariance ?? 0).mean;
}

/**
 * The level of a baseline: the mean of its occasions' centres, each weighted by its runs. Each occasion has its own centre,
 * as the runs of another one do not show which of its runs are outliers. An outlying occasion among many is winsorized: a
 * disturbed session must not lower the level that later checks are held against.
 */
function levelOf(occasions: readonly (readonly number[])[], noise: CellNoise | null): number {
  const centres = occasions.map((group) => centreOf(group, noise));
  const ofRuns: number[] = [];
  for (const [o, { length }] of occasions.entries())
    for (let i = 0; i < length; ++i) ofRuns.push(centres[o]!);
  const scale = centres.length < fewestForOutliers ? null : robustVariance([centres]);
  return scale === null ? mean(ofRuns) : winsorizedMoments(ofRuns, scale.variance).mean;
}

/** What the runs of one series say, given the noise of its kind. */
export function evidenceOf(
  series: Series,
  runs: ControlledSeries,
  noise: CellNoise | null,
  occasionNoise: OccasionNoise | null,
): Omit<Evidence, "baselineVariance" | "usualUnevenness"> {
  const occasions = byOccasion([series], [runs.baseline])[0]!.filter(({ length }) => length > 0);
  const baseline = levelOf(occasions, noise);
  const occasionRuns = occasions.map(({ length }) => length);
  const offsets = occasionNoise && betweenOccasions(occasionRuns, occasionNoise);
  const all = [...runs.first, ...runs.fresh];
  const changeTo = (logs: readonly number[], explained: HostPart | null) =>
    noise === null || logs.length === 0
      ? null
      : estimateChange(
          { baseline, candidate: centreOf(logs, noise) },
          { baseline: runs.baseline.length, candidate: logs.length },
          noise,
          [
            { variance: explained?.variance ?? 0, degreesOfFreedom: noise.degreesOfFreedom },
            ...(offsets === null ? [] : [offsets.shared, offsets.own]),
          ],
        );
  return {
    runs,
    baseline,
    candidate: centreOf(all, noise),
    fresh: runs.fresh.length === 0 ? null : centreOf(runs.fresh, noise),
    noise,
    occasionRuns,
    occasionNoise,
    overall: changeTo(all, runs.explained),
    adjusted: null,
    confirmation: changeTo(runs.fresh, runs.explainedOfFresh),
  };
}
