import { thresholdOf } from "../settings/thresholds.js";
import type { CellChange, CellComparison } from "./comparison.js";
import { type Evidence, type LogChange, meanLogSpeed } from "./evidence.js";
import { figureOf, type Series } from "./series.js";
import { judge, type Terms } from "./verdict.js";

/** The entry of one series in the comparison; null where neither side has a figure of it. */
export function compareCell(
  series: Series,
  /** Null where a side lacks the series. */
  evidence: Evidence | null,
  terms: Terms,
): CellComparison | null {
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
    adjustedPValue: evidence?.adjusted?.slower ?? null,
    threshold: thresholdOf(terms.rule.thresholds, cell),
    spread:
      noise === null
        ? null
        : {
            source: noise.source,
            logDeviation: Math.sqrt(noise.variance),
            degreesOfFreedom: noise.degreesOfFreedom,
          },
    ...judge(series, evidence, terms),
  };
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
