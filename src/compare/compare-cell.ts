import type { CellChange, CellComparison } from "./comparison.js";
import { type Evidence, type LogChange, meanLogSpeed } from "./evidence.js";
import { figureOf, type Series } from "./series.js";
import { type Bounds, judge, type TestLevels } from "./verdict.js";

/** All that the entry of one series follows from. */
export interface SeriesFindings {
  series: Series;
  /** Null where a side lacks the series. */
  evidence: Evidence | null;
  /** P-values after the correction for all series of the comparison; null where there is no evidence or no noise. */
  adjusted: { slower: number | null; faster: number | null };
  bounds: Bounds;
  levels: TestLevels;
  /** Whether the two sides are not comparable. */
  isBlocked: boolean;
}

/** The entry of one series in the comparison; null where neither side has a figure of it. */
export function compareCell(findings: SeriesFindings): CellComparison | null {
  const { series, evidence, adjusted, bounds } = findings;
  const { cell, moved, unit, baseline, first, fresh } = series;
  if (baseline.length === 0 && first.length === 0) return null;
  const noise = evidence?.noise ?? null;
  return {
    ...cell,
    moved,
    unit,
    baseline:
      baseline.length === 0
        ? null
        : { figure: figureOf(series, meanLogSpeed(series, baseline, noise)), runs: baseline.length },
    candidate:
      first.length === 0
        ? null
        : changeOf(
            series,
            evidence?.candidate ?? meanLogSpeed(series, first, null),
            first.length + fresh.length,
            evidence?.baseline ?? null,
            evidence?.overall ?? null,
          ),
    confirmation:
      evidence === null || evidence.fresh === null
        ? null
        : changeOf(series, evidence.fresh, fresh.length, evidence.baseline, evidence.confirmation),
    adjustedPValue: adjusted.slower,
    threshold: bounds.threshold,
    spread:
      noise === null
        ? null
        : {
            source: noise.source,
            logDeviation: Math.sqrt(noise.variance),
            degreesOfFreedom: noise.degreesOfFreedom,
          },
    ...verdictOf(findings),
  };
}

function verdictOf({
  series,
  evidence,
  adjusted,
  bounds,
  levels,
  isBlocked,
}: SeriesFindings): Pick<CellComparison, "verdict" | "reason"> {
  if (series.baseline.length === 0) return { verdict: "new", reason: "the baseline does not have it" };
  if (evidence === null) {
    return { verdict: "missing", reason: series.absence?.reason ?? "the candidate did not measure it" };
  }
  if (isBlocked) {
    return { verdict: "not comparable", reason: "the two sides were measured on different machines" };
  }
  return judge(
    series,
    evidence,
    { slower: adjusted.slower ?? 1, faster: adjusted.faster ?? 1 },
    bounds,
    levels,
  );
}

/** A change of the logarithm of speed as one of the figure, in its unit: a latency rises as speed drops. */
function changeOf(
  series: Series,
  logSpeed: number,
  runs: number,
  baseline: number | null,
  change: LogChange | null,
): CellChange {
  const sign = series.unit === "us" ? -1 : 1;
  const bounds = change === null ? null : [change.low, change.high].map((log) => Math.expm1(sign * log));
  return {
    figure: figureOf(series, logSpeed),
    runs,
    change: baseline === null ? null : Math.expm1(sign * (logSpeed - baseline)),
    low: bounds === null ? null : Math.min(...bounds),
    high: bounds === null ? null : Math.max(...bounds),
    pValue: change?.pSlower ?? null,
  };
}
