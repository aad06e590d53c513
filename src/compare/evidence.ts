import { recordedSpread } from "../results/recorded-spread.js";
import { holm, studentQuantile, studentTail } from "../stats/hypothesis-tests.js";
import { type VarianceEstimate, winsorizedMoments } from "../stats/variance.js";
import { type CellNoise, estimateNoise, fewestForCentre, outlierSpread } from "./noise.js";
import { kindOf, logSpeeds, type Series } from "./series.js";

/** A change of the logarithm of speed: below 0 is slower. */
export interface LogChange {
  change: number;
  /** 95 % interval, for this cell alone. */
  low: number;
  high: number;
  /** One-sided p-value: the chance of a drop at least as large where nothing changed. */
  pSlower: number;
  /** One-sided p-value: the chance of a gain at least as large where nothing changed. */
  pFaster: number;
}

/**
 * What the runs say of one series. All figures are logarithms of speed: of throughput, or of the inverse of latency.
 */
export interface Evidence {
  /** Robust mean of the baseline's runs. */
  baseline: number;
  /** Robust mean of all of the candidate's runs. */
  candidate: number;
  /** Robust mean of the confirming runs alone; null where there are none. */
  fresh: number | null;
  /** Null where the noise between runs is not known. */
  noise: CellNoise | null;
  /** The change that all of the candidate's runs show; null without noise. */
  overall: LogChange | null;
  /** The p-values of `overall` after Holm's correction over all series; null without noise. */
  adjusted: { slower: number; faster: number } | null;
  /** The change that the confirming runs alone show; null without noise or without such runs. */
  confirmation: LogChange | null;
}

/**
 * The evidence on each series, in their order; null for one that either side lacks. The recorded noise stands in
 * for what too few runs cannot tell, but only for a GPU: nothing is recorded of an emulated device.
 */
export function gatherEvidence(series: readonly Series[], isGpu: boolean): (Evidence | null)[] {
  const inBoth = series.filter(({ baseline, first }) => baseline.length > 0 && first.length > 0);
  const recorded = isGpu ? recordedSpread : null;
  const cells = inBoth.map((one) => ({
    kind: kindOf(one),
    groups: [one.baseline, one.first, one.fresh].map((figures) => logSpeeds(one, figures)),
  }));
  const noise = estimateNoise(cells, recorded);
  const withOutliers = new Map(
    [...new Set(cells.map(({ kind }) => kind))].map((kind) => {
      const ofKind = cells.filter((cell) => cell.kind === kind).map(({ groups }) => groups);
      return [kind, outlierSpread(ofKind, recorded?.[kind] ?? null)];
    }),
  );
  const evidence = new Map(
    inBoth.map((one, i) => {
      const own = noise[i] ?? null;
      const kind = kindOf(one);
      const known = hasFewRuns(one) ? widened(own, withOutliers.get(kind)!, recorded?.[kind]) : own;
      return [one, evidenceOf(one, known)];
    }),
  );
  const withNoise = [...evidence.values()].filter(({ overall }) => overall !== null);
  const slower = holm(withNoise.map(({ overall }) => overall!.pSlower));
  const faster = holm(withNoise.map(({ overall }) => overall!.pFaster));
  for (const [i, one] of withNoise.entries()) one.adjusted = { slower: slower[i]!, faster: faster[i]! };
  return series.map((one) => evidence.get(one) ?? null);
}

function hasFewRuns({ baseline, first, fresh }: Series): boolean {
  return Math.min(baseline.length, first.length + fresh.length) < fewestForCentre;
}

/** The noise where a side has so few runs that they may all be outliers: no less than `withOutliers`. */
function widened(
  noise: CellNoise | null,
  withOutliers: VarianceEstimate | null,
  recorded: VarianceEstimate | undefined,
): CellNoise | null {
  if (noise === null || withOutliers === null) return null;
  if (withOutliers.variance <= noise.variance) return noise;
  return { ...noise, ...withOutliers, source: withOutliers === recorded ? "recorded" : "these runs" };
}

/** The centre of some runs' logarithms of speed: a winsorized mean, or their median where the noise is not known. */
export function meanLogSpeed(
  series: Series,
  figures: readonly number[],
  noise: Pick<CellNoise, "robustVariance"> | null,
): number {
  return winsorizedMoments(logSpeeds(series, figures), noise?.robustVariance ?? 0).mean;
}

function evidenceOf(series: Series, noise: CellNoise | null): Evidence {
  const { baseline, first, fresh } = series;
  const all = [...first, ...fresh];
  const mean = (figures: readonly number[]) => meanLogSpeed(series, figures, noise);
  const changeTo = (figures: readonly number[]) =>
    noise === null || figures.length === 0
      ? null
      : estimateChange(
          { baseline: mean(baseline), candidate: mean(figures) },
          { baseline: baseline.length, candidate: figures.length },
          noise,
        );
  return {
    baseline: mean(baseline),
    candidate: mean(all),
    fresh: fresh.length === 0 ? null : mean(fresh),
    noise,
    overall: changeTo(all),
    adjusted: null,
    confirmation: changeTo(fresh),
  };
}

/** Beyond each end of a 95 % interval. */
const tail = 0.025;

/**
 * Student's t on the difference of two means of logarithms, over `runs` on each side, where the logarithm of one run
 * has the variance and the degrees of freedom of `noise`.
 */
export function estimateChange(
  means: { baseline: number; candidate: number },
  runs: { baseline: number; candidate: number },
  noise: VarianceEstimate & { offsetVariance: number },
): LogChange {
  const change = means.candidate - means.baseline;
  const variance = (noise.variance + noise.offsetVariance) * (1 / runs.baseline + 1 / runs.candidate);
  const error = Math.sqrt(variance);
  const halfWidth = error * studentQuantile(tail, noise.degreesOfFreedom);
  const pSlower = studentTail(-change / error, noise.degreesOfFreedom);
  const pFaster = studentTail(change / error, noise.degreesOfFreedom);
  return { change, low: change - halfWidth, high: change + halfWidth, pSlower, pFaster };
}
