import type { CellChange, CellComparison } from "./comparison.js";
import type { LogChange } from "./estimate.js";
import { type Evidence, figureOf, meanLogSpeed } from "./evidence.js";
import type { Series } from "./series.js";
import { type Bounds, judge, type TestLevels } from "./verdict.js";

/** The entry of one series in a comparison; null for one that neither side has a figure of. */
export function compareCell(
  series: Series,
  evidence: Evidence | null,
  adjusted: { slower: number | null; faster: number | null },
  bounds: Bounds,
  levels: TestLevels,
  isBlocked: boolean,
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
            evidence?.all ?? null,
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
    ...verdictOf(series, evidence, adjusted, bounds, levels, isBlocked),
  };
}

function verdictOf(
  series: Series,
  evidence: Evidence | null,
  { slower, faster }: { slower: number | null; faster: number | null },
  bounds: Bounds,
  levels: TestLevels,
  isBlocked: boolean,
): Pick<CellComparison, "verdict" | "reason"> {
  if (series.baseline.length === 0) return { verdict: "new", reason: "the baseline does not have it" };
  if (evidence === null) {
    return { verdict: "missing", reason: series.absence?.reason ?? "the candidate did not measure it" };
  }
  if (isBlocked) {
    return { verdict: "not comparable", reason: "the two sides were measured on different machines" };
  }
  return judge(series, evidence, { slower: slower ?? 1, faster: faster ?? 1 }, bounds, levels);
}

/** A change of log speed as one of the figure: of a latency, a drop in speed is a rise. */
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
