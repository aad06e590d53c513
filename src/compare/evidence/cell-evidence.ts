import { mean, robustVariance, winsorizedMoments } from "../../stats/variance.js";
import type { Series } from "../series.js";
import { estimateChange, type LogChange } from "./change-estimate.js";
import type { ControlledSeries, HostPart } from "./host-covariate.js";
import type { CellNoise } from "./noise.js";
import { betweenOccasions, fewestForOutliers, type OccasionNoise } from "./occasion-noise.js";

/**
 * The evidence on one series without the part that the host's memory explains. All figures are logarithms of speed: of
 * throughput, or of the inverse of latency.
 */
export interface Evidence {
  runs: ControlledSeries;
  /** Robust mean of the baseline's runs. */
  baseline: number;
  /** Robust mean of all of the candidate's runs. */
  candidate: number;
  /** Robust mean of the confirming runs alone; null without any. */
  fresh: number | null;
  /** Null if the noise between runs is unknown. */
  noise: CellNoise | null;
  /**
   * The robust variance of one baseline run, for detecting slow runs of the candidate; null if the baseline does not
   * show it.
   */
  baselineVariance: number | null;
  /** The usual unevenness of the baseline's runs of this kind: `usualUnevenness()`. */
  usualUnevenness: number | null;
  occasionRuns: number[];
  occasionNoise: OccasionNoise | null;
  /** The change over all of the candidate's runs; null without noise. */
  overall: LogChange | null;
  /** The p-values of `overall` after Holm's correction over all series; null without noise. */
  adjusted: { slower: number; faster: number } | null;
  /** The change over the confirming runs alone; null without noise or such runs. */
  confirmation: LogChange | null;
}

/**
 * The baseline figures (one a run) of some series, by occasion. All series have the same occasions; the list of one
 * without figures is empty.
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

/** The centres of the series that were measured on all occasions; others are not comparable. */
export function centresByOccasion(
  groups: readonly (readonly (readonly number[])[])[],
  noise: readonly (Pick<CellNoise, "robustVariance"> | null)[],
): number[][] {
  return groups.flatMap((occasions, i) =>
    occasions.every(({ length }) => length > 0) ? [occasions.map((group) => centreOf(group, noise[i]!))] : [],
  );
}

/** The centre of some runs' log speeds: a winsorized mean, or their median if the noise is unknown. */
export function centreOf(logs: readonly number[], noise: Pick<CellNoise, "robustVariance"> | null): number {
  return winsorizedMoments(logs, noise?.robustVariance ?? 0).mean;
}

/**
 * The level of a baseline: the mean of its occasions' centres, weighted by runs. Each occasion has its own centre,
 * because runs of other occasions do not show its outliers. Among many occasions an outlier is winsorized: a disturbed
 * session must not lower the level for later checks.
 */
function levelOf(occasions: readonly (readonly number[])[], noise: CellNoise | null): number {
  const centres = occasions.map((group) => centreOf(group, noise));
  const ofRuns: number[] = [];
  for (const [o, { length }] of occasions.entries())
    for (let i = 0; i < length; ++i) ofRuns.push(centres[o]!);
  const scale = centres.length < fewestForOutliers ? null : robustVariance([centres]);
  return scale === null ? mean(ofRuns) : winsorizedMoments(ofRuns, scale.variance).mean;
}

/** The evidence on one series, given the noise of its kind. */
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
