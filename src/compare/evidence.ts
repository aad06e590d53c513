import { type VarianceEstimate, winsorizedMoments } from "../stats/variance.js";
import { estimateChange, type LogChange } from "./estimate.js";
import { type CellNoise, estimateNoise } from "./noise.js";
import { fewestForCentre, outlierSpread } from "./outlier-spread.js";
import { recordedSpread } from "./recorded-spread.js";
import type { Series } from "./series.js";

/** What the processes say of one series, in logarithms of speed: throughput, or the inverse of latency. */
export interface Evidence {
  /** Robust means. */
  baseline: number;
  candidate: number;
  /** Of the confirmation's processes alone; null where there are none. */
  fresh: number | null;
  /** Null where no spread between processes is known. */
  noise: CellNoise | null;
  /** From all of the candidate's processes; null without noise. */
  all: LogChange | null;
  /** From the confirmation's processes alone. */
  confirmation: LogChange | null;
}

/**
 * The evidence on each series, in their order; null for one that either side lacks. The recorded spread stands in
 * for what too few runs cannot tell, but only for a GPU: nothing is recorded of an emulated device.
 */
export function gatherEvidence(series: readonly Series[], isGpu: boolean): (Evidence | null)[] {
  const comparable = series.filter(({ baseline, first }) => baseline.length > 0 && first.length > 0);
  const recorded = isGpu ? recordedSpread : null;
  const cells = comparable.map((one) => ({
    memory: kindOf(one),
    groups: [one.baseline, one.first, one.fresh].map((figures) => logSpeeds(one, figures)),
  }));
  const noise = estimateNoise(cells, recorded);
  const withOutliers = new Map(
    [...new Set(cells.map(({ memory }) => memory))].map((memory) => {
      const ofKind = cells.filter((cell) => cell.memory === memory).map(({ groups }) => groups);
      return [memory, outlierSpread(ofKind, recorded?.[memory] ?? null)];
    }),
  );
  const evidence = new Map(
    comparable.map((one, i) => {
      const own = noise[i] ?? null;
      const kind = kindOf(one);
      const known = hasFewRuns(one) ? widened(own, withOutliers.get(kind)!, recorded?.[kind]) : own;
      return [one, evidenceOf(one, known)];
    }),
  );
  return series.map((one) => evidence.get(one) ?? null);
}

/** Logarithms of speed: of throughput, or of the inverse of latency. */
export function logSpeeds({ unit }: Pick<Series, "unit">, figures: readonly number[]): number[] {
  return figures.map((value) => (unit === "us" ? -Math.log(value) : Math.log(value)));
}

/** The noise of a latency is another than that of the same memory's throughput. */
export function kindOf({ cell, unit }: Pick<Series, "cell" | "unit">): string {
  return unit === "us" ? `${cell.memory} latency` : cell.memory;
}

function hasFewRuns({ baseline, first, fresh }: Series): boolean {
  return Math.min(baseline.length, first.length + fresh.length) < fewestForCentre;
}

/** Noise for a side whose only runs may be outliers. */
function widened(
  noise: CellNoise | null,
  withOutliers: VarianceEstimate | null,
  recorded: VarianceEstimate | undefined,
): CellNoise | null {
  if (noise === null || withOutliers === null) return null;
  if (withOutliers.variance <= noise.variance) return noise;
  return { ...noise, ...withOutliers, source: withOutliers === recorded ? "recorded" : "these runs" };
}

/** The figure, in the series' unit, of a mean log speed. */
export function figureOf({ unit }: Pick<Series, "unit">, logSpeed: number): number {
  return Math.exp(unit === "us" ? -logSpeed : logSpeed);
}

/** The mean log speed of some processes: a robust one where their noise is known. */
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
  const change = (figures: readonly number[]) =>
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
    all: change(all),
    confirmation: change(fresh),
  };
}
