import { type Thresholds, thresholdOf } from "../settings/thresholds.js";
import type { CellComparison } from "./comparison.js";
import type { Evidence, LogChange } from "./evidence.js";
import { figureOf, logSpeeds, type Series } from "./series.js";

/** By what a change is judged. */
export interface Rule {
  /** The chance that any cell is called slower where none is, if the assumptions hold (docs/method.md). */
  significance: number;
  thresholds: Thresholds;
  allowMismatch: boolean;
  strict: boolean;
}

/** What holds for all cells of a comparison. */
export interface Terms {
  rule: Rule;
  /** Whether a regression has to be confirmed by fresh processes. */
  needsConfirmation: boolean;
  /** Whether the two sides are not comparable. */
  isBlocked: boolean;
}

/** How much must change in a series to count: the threshold, and never less than the floor. */
interface Bounds {
  /** A relative drop: 0.05 is 5 %. */
  threshold: number;
  /** An absolute difference, in the series' unit. */
  floor: number;
}

function boundsOf({ cell, unit }: Series, { thresholds }: Rule): Bounds {
  return {
    threshold: thresholdOf(thresholds, cell),
    floor: unit === "us" ? thresholds.floorUs : thresholds.floorGBps,
  };
}

/**
 * A cell that lost more than this share of its threshold, with a p-value below this level, is a suspect, which a check
 * measures again by fresh runs. That is generous, for a check never calls a cell slower that is no suspect. A suspect
 * is confirmed where the fresh runs alone show as much; their p-value needs no correction for many cells, as they had
 * no part in choosing the suspects.
 */
const suspicion = { shareOfThreshold: 0.5, level: 0.05 };

/** At least this share of the candidate's runs must be slower than the baseline by this share of the threshold. */
const mostRuns = { share: 0.8, shareOfThreshold: 0.5 };

/** Whether a series looks slow enough to be measured again. */
export function isSuspect(series: Series, evidence: Evidence, rule: Rule): boolean {
  const drop = countingDrop(series, evidence, boundsOf(series, rule));
  return evidence.overall !== null && isSuspicious(evidence.overall, drop);
}

function isSuspicious({ change, pSlower }: LogChange, drop: number): boolean {
  return -change > suspicion.shareOfThreshold * drop && pSlower < suspicion.level;
}

/** The verdict on a series, and why; `evidence` is null where a side lacks it. */
export function judge(
  series: Series,
  evidence: Evidence | null,
  { rule, needsConfirmation, isBlocked }: Terms,
): Pick<CellComparison, "verdict" | "reason"> {
  if (series.baseline.length === 0) return { verdict: "new", reason: "the baseline does not have it" };
  if (evidence === null) {
    return { verdict: "missing", reason: series.absence?.reason ?? "the candidate did not measure it" };
  }
  if (isBlocked) {
    return { verdict: "not comparable", reason: "the two sides were measured on different machines" };
  }
  const { overall, adjusted } = evidence;
  if (overall === null || adjusted === null) {
    return {
      verdict: "inconclusive",
      reason:
        "a side of one or two runs says too little of the spread between runs, and none is recorded for it",
    };
  }
  const bounds = boundsOf(series, rule);
  const percent = `${+(bounds.threshold * 100).toPrecision(3)} %`;
  const drop = countingDrop(series, evidence, bounds);
  const whatCounts =
    drop > logFall(bounds.threshold) ? `the floor of ${floorText(series, bounds)}` : `a drop of ${percent}`;
  if (-overall.change > drop && adjusted.slower < rule.significance) {
    const unconfirmed =
      whyNotMostRuns(series, evidence, drop) ?? (needsConfirmation ? whyNotConfirmed(evidence, drop) : null);
    if (unconfirmed === null) {
      return { verdict: "slower", reason: `by more than ${percent}, beyond the spread between runs` };
    }
    return { verdict: "inconclusive", reason: unconfirmed };
  }
  if (overall.change > countingGain(series, evidence, bounds) && adjusted.faster < rule.significance) {
    return { verdict: "faster", reason: `by more than ${percent}, beyond the spread between runs` };
  }
  if (overall.low > -drop) return { verdict: "same", reason: `${whatCounts} lies outside the interval` };
  return {
    verdict: "inconclusive",
    reason: `the spread between runs neither shows nor excludes ${whatCounts}`,
  };
}

/** A few outliers among the candidate's runs make a cell unsteady, not slower: most of its runs have to be slower. */
function whyNotMostRuns(series: Series, { baseline }: Evidence, drop: number): string | null {
  const runs = logSpeeds(series, [...series.first, ...series.fresh]);
  const slower = runs.filter((logSpeed) => logSpeed < baseline - mostRuns.shareOfThreshold * drop).length;
  if (slower >= mostRuns.share * runs.length) return null;
  return `only ${slower} of ${runs.length} runs are slower than the baseline by more than half the threshold`;
}

function whyNotConfirmed({ confirmation }: Evidence, drop: number): string | null {
  if (confirmation === null) return "it looked slower, and fresh processes could not measure it again";
  if (isSuspicious(confirmation, drop)) return null;
  return "it looked slower, and fresh processes did not confirm it";
}

/** The change of the logarithm of a figure that rises by this share. */
function logRise(share: number): number {
  return Math.log1p(share);
}

/** The change of the logarithm of a figure that falls by this share; no figure can fall by more than all of itself. */
function logFall(share: number): number {
  return share < 1 ? -Math.log1p(-share) : Infinity;
}

/** The drop of the logarithm of speed that counts: the threshold's, or the floor's where that is more. */
function countingDrop(series: Series, { baseline }: Evidence, { threshold, floor }: Bounds): number {
  const share = floor / figureOf(series, baseline);
  return Math.max(logFall(threshold), series.unit === "us" ? logRise(share) : logFall(share));
}

/** The gain of the logarithm of speed that counts: the threshold's, or the floor's where that is more. */
function countingGain(series: Series, { baseline }: Evidence, { threshold, floor }: Bounds): number {
  const share = floor / figureOf(series, baseline);
  return Math.max(logRise(threshold), series.unit === "us" ? logFall(share) : logRise(share));
}

function floorText({ unit }: Series, { floor }: Bounds): string {
  return unit === "us" ? `${floor} µs` : `${floor} GB/s`;
}
