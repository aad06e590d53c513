import { isSteady, type VariantFields } from "../results/variant.js";
import { type Thresholds, thresholdOf } from "../settings/thresholds.js";
import { median } from "../stats/order-statistics.js";
import { intervalOfShare } from "../stats/shares.js";
import type { CellComparison, CellSlowRuns, Verdict } from "./comparison.js";
import type { Evidence } from "./evidence/cell-evidence.js";
import type { LogChange } from "./evidence/change-estimate.js";
import {
  findSlowRuns,
  needsMoreRuns,
  rateAgainstBaseline,
  runsToConfirm,
  type SlowRuns,
  slowOfCandidate,
} from "./evidence/slow-runs.js";
import { findUnevenRuns, type UnevenRuns } from "./evidence/uneven-runs.js";
import { figureOf, type Series } from "./series.js";

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
 * How many fresh processes have to measure a series again before it is judged: 0 if nothing looks slow, 1 if it
 * does as a whole (more only make the verdict surer), and more if a part of the runs is slow or uneven, which few would
 * not meet.
 */
export function confirmingRuns(series: Series, evidence: Evidence, rule: Rule): number {
  const drop = countingDropOfCell(series, evidence, rule);
  const slow = findSlowRuns(series, evidence, drop);
  const uneven = findUnevenRuns(series, evidence, thresholdOf(rule.thresholds, series.cell));
  if (slow === null && uneven === null) {
    return evidence.overall !== null && isSuspicious(evidence.overall, drop) ? 1 : 0;
  }
  return Math.max(
    slow === null ? 0 : runsToConfirm(slow.first),
    uneven === null ? 0 : uneven.first.slow === 0 ? 1 : runsToConfirm(uneven.first),
  );
}

/**
 * With a smaller share of the error due to the candidate's runs, more of them do not settle a verdict: the rest is between
 * occasions, and known from few. A group's interval is made by these, and a little narrows it where its cells' do not.
 */
const leastShareOfRuns = { cell: 0.3, group: 0.1 };

/** Whether further fresh processes may settle the verdict on a series that fresh processes have measured. */
export function isUnsettled(series: Series, evidence: Evidence, rule: Rule): boolean {
  const drop = countingDropOfCell(series, evidence, rule);
  const slow = findSlowRuns(series, evidence, drop);
  if (slow !== null && needsMoreRuns(slow)) return true;
  const uneven = findUnevenRuns(series, evidence, thresholdOf(rule.thresholds, series.cell));
  if (uneven !== null && needsMoreRuns(uneven, uneven.rate)) return true;
  return isUnsettledDrop(evidence, drop, rule, leastShareOfRuns.cell);
}

/** The same for what the cells of a kind and direction did together. */
export function isUnsettledGroup(group: GroupToJudge, rule: Rule): boolean {
  return isUnsettledDrop(group.evidence, countingDropOfGroup(group, rule), rule, leastShareOfRuns.group);
}

/** Whether a drop that counts is neither shown nor, by itself, likely to be chance. */
function isUnsettledDrop(evidence: Evidence, drop: number, rule: Rule, leastShare: number): boolean {
  const { overall } = evidence;
  if (overall === null || overall.shareOfRuns < leastShare) return false;
  return -overall.change > drop && isSuspicious(overall, drop) && !isShown(evidence, drop, rule);
}

function isSuspicious({ change, pSlower }: LogChange, drop: number): boolean {
  return -change > suspicion.shareOfThreshold * drop && pSlower < suspicion.level;
}

/** Whether a drop is likely: the estimate lies beyond what counts, and its interval beyond no change. */
function isProbable({ change, high }: LogChange, drop: number): boolean {
  return -change > drop && high < 0;
}

/** Whether a drop is as good as certain, after the correction for many cells. */
function isShown({ overall, adjusted }: Evidence, drop: number, { significance }: Rule): boolean {
  return -overall!.change > drop && adjusted!.slower < significance;
}

/** The verdict on a series, and why; `evidence` is null if a side lacks it. */
export function judge(series: Series, evidence: Evidence | null, terms: Terms): Judgement {
  const judged = judgeMedians(series, evidence, terms);
  const isOpen = medianVerdictsThatMayBeUneven.includes(judged.verdict);
  const uneven =
    isOpen && evidence !== null && !terms.isBlocked
      ? findUnevenRuns(series, evidence, thresholdOf(terms.rule.thresholds, series.cell))
      : null;
  const judgedUneven = uneven && judgeUnevenRuns(uneven, terms);
  if (judgedUneven === null) return judged;
  const areBothOpen = judgedUneven.verdict === judged.verdict;
  const reason = areBothOpen ? `${judged.reason}; ${judgedUneven.reason}` : judgedUneven.reason;
  return { verdict: judgedUneven.verdict, reason, slowRuns: judged.slowRuns };
}

/** Medians that are as they were, or not known to be slower, do not show that copies are. */
const medianVerdictsThatMayBeUneven: readonly Verdict[] = ["faster", "not slower", "cannot be told"];

/** Null where slow copies took no more than before; shown and met again as slow runs are. */
function judgeUnevenRuns(uneven: UnevenRuns, { needsConfirmation }: Terms): Judgement | null {
  const { first, fresh, lost } = uneven;
  const { slow, runs } = slowOfCandidate(uneven);
  const percent = (share: number) => `${Math.max(0, Math.round(share * 100))} %`;
  const share = `slow copies took ${percent(lost.candidate)} of the time, ${percent(lost.baseline)} before`;
  const { isByMean } = uneven;
  if (needsConfirmation && !(uneven.isMetAgain && (isByMean || (fresh.slow > 0 && slow > 1)))) {
    const again =
      fresh.runs === 0 ? "fresh processes could not measure it again" : "fresh processes did not confirm it";
    return first.slow === 0 ? null : plain("cannot be told", `${share}, and ${again}`);
  }
  if (slow === 1 && !isByMean) return plain("cannot be told", `${share}, in 1 of ${counted(runs)}`);
  switch (uneven.rate) {
    case "more":
      return plain("uneven", share);
    case "open":
      return plain(
        "cannot be told",
        `${share}, in ${slow} of ${counted(runs)}: that may be as often as before`,
      );
    case "less":
      return null;
  }
}

function counted(runs: number): string {
  return runs === 1 ? "1 run" : `${runs} runs`;
}

/** The verdict on the medians of a series, and on single slow runs among these. */
function judgeMedians(series: Series, evidence: Evidence | null, terms: Terms): Judgement {
  if (series.baseline.length === 0) return plain("new", "the baseline does not have it");
  if (evidence === null)
    return plain("missing", series.absence?.reason ?? "the candidate did not measure it");
  if (terms.isBlocked) return plain("not comparable", "the two sides differ in what their figures depend on");
  if (evidence.overall === null || evidence.adjusted === null) {
    return plain(
      "cannot be told",
      "a side has only one or two runs, and no spread between runs is recorded for this kind",
    );
  }
  const bounds = boundsOf(series, terms.rule);
  const drop = countingDrop(series, evidence, bounds);
  const whatCounts =
    drop > logFall(bounds.threshold)
      ? `the floor of ${floorText(series, bounds)}`
      : `a drop of ${percentText(bounds.threshold)}`;
  const slow = findSlowRuns(series, evidence, drop);
  // If most runs are slower, another occasion may have shifted them all: that is not for the slow runs to say.
  const isMost = isMostRuns(evidence, drop);
  if (slow !== null && !isMost) return judgeSlowRuns(series, slow, terms);
  const slower = judgeDrop(evidence, drop, { terms, isMost, percent: percentText(bounds.threshold) });
  if (slower !== null) return slower;
  const percent = percentText(bounds.threshold);
  const gain = countingGain(series, evidence, bounds);
  const judged = judgeNoDrop(evidence, { drop, gain, whatCounts, percent }, terms);
  return slow !== null && judged.verdict === "not slower"
    ? plain("cannot be told", neitherShown(whatCounts))
    : judged;
}

/** The verdict on what the cells of a kind and direction did together; a drop counts that counts in their middle cell. */
export function judgeGroup(group: GroupToJudge, terms: Terms): GroupJudgement {
  const { evidence, withHost, host } = group;
  const drop = countingDropOfGroup(group, terms.rule);
  const percent = percentText(-Math.expm1(-drop));
  const lossIn = (some: Evidence) =>
    judgeDrop(some, drop, { terms, isMost: isMostRuns(some, drop), percent });
  const ofCopies = lossIn(evidence);
  const isLoss = (judged: Judgement | null) => judged !== null && judged.verdict !== "cannot be told";
  // Whether the host's memory or the copies are to blame, a program gets less: both agree.
  if (!isLoss(ofCopies) && withHost !== null && host !== null && -host.change > drop / 2) {
    const ofBoth = lossIn(withHost);
    if (ofBoth !== null && isLoss(ofBoth)) return { ...ofBoth, isWithHost: true };
  }
  const bounds = { drop, gain: drop, whatCounts: `a drop of ${percent}`, percent };
  return { ...(ofCopies ?? judgeNoDrop(evidence, bounds, terms)), isWithHost: false };
}

/** The verdict on a series or a group that does not look slower. */
function judgeNoDrop(
  { overall, adjusted }: Evidence,
  { drop, gain, whatCounts, percent }: { drop: number; gain: number; whatCounts: string; percent: string },
  { rule }: Terms,
): Judgement {
  if (overall !== null && overall.change > gain && adjusted!.faster < rule.significance) {
    return plain("faster", `by more than ${percent}, beyond the spread between runs`);
  }
  return overall !== null && overall.low > -drop
    ? plain("not slower", `${whatCounts} lies outside the interval`)
    : plain("cannot be told", neitherShown(whatCounts));
}

function neitherShown(whatCounts: string): string {
  return `the spread between runs neither shows nor excludes ${whatCounts}`;
}

/** The drop of the logarithm of speed that counts in a cell: its threshold's, or the floor's if that is more. */
export function countingDropOfCell(series: Series, evidence: Evidence, rule: Rule): number {
  return countingDrop(series, evidence, boundsOf(series, rule));
}

/** The drop of the logarithm of speed that counts in the middle cell of a group. */
export function countingDropOfGroup({ members }: Pick<GroupToJudge, "members">, rule: Rule): number {
  const drops = members.map((one) => countingDropOfCell(one.series, one.evidence, rule));
  // A cell slower than the floor cannot fall by as much: its drop is endless.
  return median(drops.map((drop) => Math.min(drop, Number.MAX_VALUE)));
}

/** Whether a group looks slower, by itself or with the host's memory, so that its cells have to be measured again. */
export function isSuspiciousGroup(group: GroupToJudge, rule: Rule): boolean {
  const drop = countingDropOfGroup(group, rule);
  const { evidence, withHost, host } = group;
  if (evidence.overall !== null && isSuspicious(evidence.overall, drop)) return true;
  if (withHost === null || host === null || -host.change <= drop / 2) return false;
  return withHost.overall !== null && isSuspicious(withHost.overall, drop);
}

/** What the verdict on a group is made of. */
export interface GroupToJudge {
  members: readonly { series: Series; evidence: Evidence }[];
  evidence: Evidence;
  /** With what the host's memory explains; null without a control. */
  withHost: Evidence | null;
  /** The change of the host's memory; null if that is not known. */
  host: Pick<LogChange, "change"> | null;
}

/** The verdict on a group, and whether it is about what the copies and the host's memory lost together. */
export interface GroupJudgement extends Judgement {
  isWithHost: boolean;
}

/** Whether a series or a group is slower; null if it does not look so. */
function judgeDrop(
  evidence: Evidence,
  drop: number,
  { terms, isMost, percent }: { terms: Terms; isMost: boolean; percent: string },
): Judgement | null {
  const { overall } = evidence;
  if (overall === null) return null;
  const isCertain = isShown(evidence, drop, terms.rule);
  if (!isCertain && !isProbable(overall, drop)) return null;
  if (!isMost) return plain("cannot be told", whyNotMostRuns(evidence, drop));
  const { confirmation } = evidence;
  if (terms.needsConfirmation && confirmation !== null && !isSuspicious(confirmation, drop)) {
    return plain("cannot be told", "it looked slower, and fresh processes did not confirm it");
  }
  if (terms.needsConfirmation && confirmation === null) {
    return plain("probably slower", "it looked slower, and fresh processes could not measure it again");
  }
  return isCertain
    ? plain("slower", `by more than ${percent}, beyond the spread between runs`)
    : plain("probably slower", `by more than ${percent}, and the interval excludes zero`);
}

/** A verdict, its reason in a sentence, and the slow runs that it is about, if it is about some. */
type Judgement = Pick<CellComparison, "verdict" | "reason" | "slowRuns">;

function plain(verdict: Verdict, reason: string): Judgement {
  return { verdict, reason, slowRuns: null };
}

/** Slow runs are shown by the first processes alone for `compare`, and met again by fresh ones for `check`. */
function judgeSlowRuns(series: Series, slow: SlowRuns, { needsConfirmation }: Terms): Judgement {
  const { baseline, fresh } = slow;
  const { slow: count, runs } = slowOfCandidate(slow);
  const slowRuns: CellSlowRuns = {
    count,
    runs,
    share: intervalOfShare({ slow: count, runs }),
    ofBaseline: baseline.slow,
    worstChange: changeOfFigure(series, slow.worst),
    startedAt: slow.startedAt,
  };
  if (needsConfirmation && (fresh.slow === 0 || count === 1)) {
    return { verdict: "cannot be told", reason: whySlowRunsNotConfirmed(slow), slowRuns };
  }
  const before = baseline.slow === 0 ? "none" : `${baseline.slow}`;
  const share = `${count} of ${runs} runs are far slower, of the baseline's ${baseline.runs} ${before}`;
  return rateAgainstBaseline(slow) === "less"
    ? { verdict: "cannot be told", reason: `${share}: less often than before`, slowRuns }
    : { verdict: "unsteady", reason: share, slowRuns };
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
  const { verdict } = cell;
  if (verdict === "slower" || verdict === "probably slower") return true;
  return (verdict === "unsteady" || verdict === "uneven") && (strict || isSteady(cell));
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

function percentText(share: number): string {
  return `${+(share * 100).toPrecision(3)} %`;
}

function floorText({ unit }: Series, { floor }: Bounds): string {
  return unit === "us" ? `${floor} µs` : `${floor} GB/s`;
}
