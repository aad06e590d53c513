import { isSteady, type VariantFields } from "../results/variant.js";
import { type Thresholds, thresholdOf } from "../settings/thresholds.js";
import type { Evidence } from "./cell-evidence.js";
import type { LogChange } from "./change-estimate.js";
import type { CellComparison, CellSlowRuns, Verdict } from "./comparison.js";
import { figureOf, type Series } from "./series.js";
import { findSlowRuns, isMoreOften, runsToConfirm, type SlowRuns } from "./slow-runs.js";

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

/**
 * How many fresh processes have to measure a series again before it is judged: 0 where nothing looks slow, 1 where it
 * does as a whole (more only make the verdict surer), and more where a part of the runs is slow, which few would not meet.
 */
export function confirmingRuns(series: Series, evidence: Evidence, rule: Rule): number {
  const drop = countingDrop(series, evidence, boundsOf(series, rule));
  const slow = findSlowRuns(series, evidence, drop);
  if (slow !== null && isMoreOften(slow)) return runsToConfirm(slow.first);
  return evidence.overall !== null && isSuspicious(evidence.overall, drop) ? 1 : 0;
}

/** Whether the first runs had slow ones that the fresh runs have not met yet. */
export function isUnmetSlowness(series: Series, evidence: Evidence, rule: Rule): boolean {
  const slow = findSlowRuns(series, evidence, countingDrop(series, evidence, boundsOf(series, rule)));
  return slow !== null && slow.first.slow > 0 && slow.fresh.slow === 0;
}

function isSuspicious({ change, pSlower }: LogChange, drop: number): boolean {
  return -change > suspicion.shareOfThreshold * drop && pSlower < suspicion.level;
}

/** The verdict on a series, and why; `evidence` is null where a side lacks it. */
export function judge(
  series: Series,
  evidence: Evidence | null,
  { rule, needsConfirmation, isBlocked }: Terms,
): Judgement {
  const plain = (verdict: Verdict, reason: string) => ({ verdict, reason, slowRuns: null });
  if (series.baseline.length === 0) return plain("new", "the baseline does not have it");
  if (evidence === null)
    return plain("missing", series.absence?.reason ?? "the candidate did not measure it");
  if (isBlocked) return plain("not comparable", "the two sides differ in what their figures depend on");
  const { overall, adjusted } = evidence;
  if (overall === null || adjusted === null) {
    return plain(
      "inconclusive",
      "a side of one or two runs says too little of the spread between runs, and none is recorded for it",
    );
  }
  const bounds = boundsOf(series, rule);
  const percent = `${+(bounds.threshold * 100).toPrecision(3)} %`;
  const drop = countingDrop(series, evidence, bounds);
  const whatCounts =
    drop > logFall(bounds.threshold) ? `the floor of ${floorText(series, bounds)}` : `a drop of ${percent}`;
  const isSlower = -overall.change > drop && adjusted.slower < rule.significance;
  const isMost = isMostRuns(evidence, drop);
  if (isSlower && isMost) {
    const unconfirmed = needsConfirmation ? whyNotConfirmed(evidence, drop) : null;
    if (unconfirmed !== null) return plain("inconclusive", unconfirmed);
    return plain("slower", `by more than ${percent}, beyond the spread between runs`);
  }
  const slow = findSlowRuns(series, evidence, drop);
  // Where most runs are slower and it is not shown all the same, another occasion may have shifted them all.
  if (slow !== null && isMoreOften(slow) && !isMost) return judgeSlowRuns(series, slow, needsConfirmation);
  if (isSlower) return plain("inconclusive", whyNotMostRuns(evidence, drop));
  if (overall.change > countingGain(series, evidence, bounds) && adjusted.faster < rule.significance) {
    return plain("faster", `by more than ${percent}, beyond the spread between runs`);
  }
  if (overall.low > -drop) return plain("same", `${whatCounts} lies outside the interval`);
  return plain("inconclusive", `the spread between runs neither shows nor excludes ${whatCounts}`);
}

/** A verdict, its reason in a sentence, and the slow runs that it is about, if it is about some. */
type Judgement = Pick<CellComparison, "verdict" | "reason" | "slowRuns">;

/** Slow runs are shown by the first processes alone for `compare`, and met again by fresh ones for `check`. */
function judgeSlowRuns(series: Series, slow: SlowRuns, needsConfirmation: boolean): Judgement {
  const { baseline, first, fresh } = slow;
  const slowRuns: CellSlowRuns = {
    count: first.slow + fresh.slow,
    runs: first.runs + fresh.runs,
    ofBaseline: baseline.slow,
    worstChange: changeOfFigure(series, slow.worst),
    startedAt: slow.startedAt,
  };
  const before = baseline.slow === 0 ? "none" : `${baseline.slow}`;
  const share = `${slowRuns.count} of ${slowRuns.runs} runs are far slower, of the baseline's ${baseline.runs} ${before}`;
  if (needsConfirmation && (fresh.slow === 0 || slowRuns.count === 1)) {
    return { verdict: "inconclusive", reason: whySlowRunsNotConfirmed(slow), slowRuns };
  }
  return { verdict: "unsteady", reason: share, slowRuns };
}

function whySlowRunsNotConfirmed({ first, fresh }: SlowRuns): string {
  if (first.slow === 0) return `1 of ${fresh.runs} fresh processes was far slower, and no run before these`;
  const again =
    fresh.runs === 0
      ? "fresh processes could not measure it again"
      : `none of ${fresh.runs} fresh processes was`;
  return `${first.slow} of ${first.runs} runs were far slower, and ${again}`;
}

/** Whether a verdict fails a comparison: slow runs of steady cells are a fault, those of others may be their nature. */
export function isFailing(
  cell: Pick<CellComparison, "verdict" | "memory" | keyof VariantFields>,
  { strict }: Pick<Rule, "strict">,
): boolean {
  return cell.verdict === "slower" || (cell.verdict === "unsteady" && (strict || isSteady(cell)));
}

/** Whether as many of the candidate's runs are slower as it takes to call the cell slower, and not unsteady. */
function isMostRuns(evidence: Evidence, drop: number): boolean {
  const { slower, of } = slowerRuns(evidence, drop);
  return slower >= mostRuns.share * of;
}

function slowerRuns({ baseline, runs }: Evidence, drop: number): { slower: number; of: number } {
  const candidate = [...runs.first, ...runs.fresh];
  const slower = candidate.filter(
    (logSpeed) => logSpeed < baseline - mostRuns.shareOfThreshold * drop,
  ).length;
  return { slower, of: candidate.length };
}

/** A few outliers among the candidate's runs do not make a cell slower: most of its runs have to be. */
function whyNotMostRuns(evidence: Evidence, drop: number): string {
  const { slower, of } = slowerRuns(evidence, drop);
  return `only ${slower} of ${of} runs are slower than the baseline by more than half the threshold`;
}

function whyNotConfirmed({ confirmation }: Evidence, drop: number): string | null {
  if (confirmation === null) return "it looked slower, and fresh processes could not measure it again";
  if (isSuspicious(confirmation, drop)) return null;
  return "it looked slower, and fresh processes did not confirm it";
}

/** A change of the logarithm of speed as a relative one of the figure: a latency rises as speed drops. */
export function changeOfFigure({ unit }: Pick<Series, "unit">, change: number): number {
  return Math.expm1(unit === "us" ? -change : change);
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
