import { thresholdOf } from "../settings/thresholds.js";
import { mean } from "../stats/variance.js";
import type { CellChange, CellComparison } from "./comparison.js";
import { centreOf, type Evidence } from "./evidence/cell-evidence.js";
import { type LogChange, lossThatWouldShow } from "./evidence/change-estimate.js";
import { lostShares } from "./evidence/uneven-runs.js";
import { figureOf, logSpeeds, type RunFigure, type Series } from "./series.js";
import { changeOfFigure, countingDropOfCell, judge, type Terms } from "./verdict.js";

/** The entry of one series in the comparison; null if neither side has a figure. */
export function compareCell(
  series: Series,
  /** Null if a side lacks the series. */
  evidence: Evidence | null,
  terms: Terms,
): CellComparison | null {
  const { cell, moved, unit, baseline, first, fresh } = series;
  if (baseline.length === 0 && first.length === 0) return null;
  const noise = evidence?.noise ?? null;
  const explained = evidence?.runs.explained?.change ?? 0;
  const explainedOfFresh = evidence?.runs.explainedOfFresh?.change ?? 0;
  const centre = (figures: readonly RunFigure[]) => centreOf(logSpeeds(series, figures), noise);
  return {
    ...cell,
    moved,
    unit,
    baseline:
      baseline.length === 0
        ? null
        : { figure: figureOf(series, evidence?.baseline ?? centre(baseline)), runs: baseline.length },
    candidate:
      first.length === 0
        ? null
        : {
            runs: first.length + fresh.length,
            figure: figureOf(series, evidence === null ? centre(first) : evidence.candidate + explained),
            ...changeOf(
              series,
              evidence && evidence.candidate - evidence.baseline + explained,
              evidence?.overall ?? null,
              explained,
            ),
          },
    confirmation:
      evidence === null || evidence.fresh === null
        ? null
        : {
            runs: fresh.length,
            figure: figureOf(series, evidence.fresh + explainedOfFresh),
            ...changeOf(
              series,
              evidence.fresh - evidence.baseline + explainedOfFresh,
              evidence.confirmation,
              explainedOfFresh,
            ),
          },
    adjustedPValue: evidence?.adjusted?.slower ?? null,
    explainedByHost:
      evidence === null || evidence.runs.explained === null ? null : changeOfFigure(series, explained),
    lostShare: meanLostShares(series),
    threshold: thresholdOf(terms.rule.thresholds, cell),
    wouldShow:
      evidence === null
        ? null
        : lossThatWouldShow(evidence.overall, countingDropOfCell(series, evidence, terms.rule)),
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

function meanLostShares({ baseline, first, fresh }: Series): CellComparison["lostShare"] {
  const sides = [lostShares(baseline), lostShares([...first, ...fresh])] as const;
  if (sides.some(({ length }) => length === 0)) return null;
  return { baseline: mean(sides[0]), candidate: mean(sides[1]) };
}

/**
 * Converts a change of the logarithm of speed to a relative one, and the interval of the change that the host does not
 * explain.
 */
function changeOf(
  series: Series,
  change: number | null,
  judged: LogChange | null,
  explained: number,
): Pick<CellChange, "change" | "low" | "high" | "pValue"> {
  const bounds =
    judged === null ? null : [judged.low, judged.high].map((log) => changeOfFigure(series, log + explained));
  return {
    change: change === null ? null : changeOfFigure(series, change),
    low: bounds === null ? null : Math.min(...bounds),
    high: bounds === null ? null : Math.max(...bounds),
    pValue: judged?.pSlower ?? null,
  };
}
