import type { Verdict } from "./comparison.js";
import type { Evidence, LogChange } from "./evidence.js";
import { figureOf, logSpeeds, type Series } from "./series.js";

/** How much must change in a series to count: the threshold, and never less than the floor. */
export interface Bounds {
  /** A relative drop: 0.05 is 5 %. */
  threshold: number;
  /** An absolute difference, in the series' unit. */
  floor: number;
}

/** What a comparison as a whole asks of its evidence. */
export interface TestLevels {
  /** The chance that any cell is called slower where none is. */
  significance: number;
  /** Whether a regression has to be confirmed by fresh processes. */
  needsConfirmation: boolean;
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
export function isSuspect(series: Series, evidence: Evidence, bounds: Bounds): boolean {
  const drop = countingDrop(series, evidence, bounds);
  return evidence.overall !== null && isSuspicious(evidence.overall, drop);
}

function isSuspicious({ change, pSlower }: LogChange, drop: number): boolean {
  return -change > suspicion.shareOfThreshold * drop && pSlower < suspicion.level;
}

/**
 * The verdict on a series that both sides have, and why. `adjusted` are the p-values after Holm's correction over
 * all series of the comparison.
 */
export function judge(
  series: Series,
  evidence: Evidence,
  adjusted: { slower: number; faster: number },
  bounds: Bounds,
  { significance, needsConfirmation }: TestLevels,
): { verdict: Verdict; reason: string } {
  const { overall } = evidence;
  if (overall === null) {
    return {
      verdict: "inconclusive",
      reason:
        "a side of one or two runs says too little of the spread between runs, and none is recorded for it",
    };
  }
  const percent = `${+(bounds.threshold * 100).toPrecision(3)} %`;
  const drop = countingDrop(series, evidence, bounds);
  const whatCounts =
    drop > logFall(bounds.threshold) ? `the floor of ${floorText(series, bounds)}` : `a drop of ${percent}`;
  if (-overall.change > drop && adjusted.slower < significance) {
    const unconfirmed =
      whyNotMostRuns(series, evidence, drop) ?? (needsConfirmation ? whyNotConfirmed(evidence, drop) : null);
    if (unconfirmed === null) {
      return { verdict: "slower", reason: `by more than ${percent}, beyond the spread between runs` };
    }
    return { verdict: "inconclusive", reason: unconfirmed };
  }
  if (overall.change > countingGain(series, evidence, bounds) && adjusted.faster < significance) {
    return { verdict: "faster", reason: `by more than ${percent}, beyond the spread between runs` };
  }
  if (overall.low > -drop) {
    return { verdict: "same", reason: `${whatCounts} lies outside the interval` };
  }
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
