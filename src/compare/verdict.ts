import type { Verdict } from "./comparison.js";
import { type Evidence, figureOf, logSpeeds } from "./evidence.js";
import type { Series } from "./series.js";

/** The relative drop and the absolute difference that count. */
export interface Bounds {
  /** 0.05 is a drop of 5 %. */
  threshold: number;
  /** In the series' unit. */
  floor: number;
}

/** What a test of one comparison asks for. */
export interface TestLevels {
  /** That any cell is called slower where none is. */
  significance: number;
  /** Whether a regression has to be confirmed by fresh processes. */
  needsConfirmation: boolean;
}

/**
 * A suspect is measured again by fresh processes: generously chosen, for a missed one is lost. Confirmed is what
 * these alone show as well, at a plain level, for they were not chosen by their figures.
 */
const suspicion = { shareOfThreshold: 0.5, level: 0.05 };

/** Of the candidate's runs so many have to be slower than the baseline, by so much of the threshold. */
const mostRuns = { share: 0.8, shareOfThreshold: 0.5 };

/** Whether a series looks slow enough to be measured again. */
export function isSuspect(series: Series, evidence: Evidence, bounds: Bounds): boolean {
  const { all } = evidence;
  return (
    all !== null &&
    -all.change > suspicion.shareOfThreshold * countingDrop(series, evidence, bounds) &&
    all.pSlower < suspicion.level
  );
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
  const { all } = evidence;
  if (all === null) {
    return {
      verdict: "inconclusive",
      reason:
        "a side of one or two runs says too little of the spread between runs, and none is recorded for it",
    };
  }
  const percent = `${+(bounds.threshold * 100).toPrecision(3)} %`;
  const drop = countingDrop(series, evidence, bounds);
  const counts =
    drop > logDrop(bounds) ? `the floor of ${floorText(series, bounds)}` : `a drop of ${percent}`;
  if (-all.change > drop && adjusted.slower < significance) {
    const unconfirmed =
      whyNotMostRuns(series, evidence, drop) ?? (needsConfirmation ? whyNotConfirmed(evidence, drop) : null);
    if (unconfirmed === null) {
      return { verdict: "slower", reason: `by more than ${percent}, beyond the spread between runs` };
    }
    return { verdict: "inconclusive", reason: unconfirmed };
  }
  if (all.change > countingGain(series, evidence, bounds) && adjusted.faster < significance) {
    return { verdict: "faster", reason: `by more than ${percent}, beyond the spread between runs` };
  }
  if (all.low > -drop) {
    return { verdict: "same", reason: `${counts} lies outside the interval` };
  }
  return {
    verdict: "inconclusive",
    reason: `the spread between runs neither shows nor excludes ${counts}`,
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
  const isConfirmed =
    -confirmation.change > suspicion.shareOfThreshold * drop && confirmation.pSlower < suspicion.level;
  return isConfirmed ? null : "it looked slower, and fresh processes did not confirm it";
}

/** The drop in logarithms that a relative threshold stands for. */
function logDrop({ threshold }: Bounds): number {
  return -Math.log1p(-threshold);
}

/** The drop in logarithms that counts: the threshold's, or the floor's where that is more. */
function countingDrop(series: Series, { baseline }: Evidence, bounds: Bounds): number {
  const share = bounds.floor / figureOf(series, baseline);
  // A rate can fall by all of itself at most; below the floor nothing counts then.
  const atFloor = series.unit === "us" ? Math.log1p(share) : share < 1 ? -Math.log1p(-share) : Infinity;
  return Math.max(logDrop(bounds), atFloor);
}

/** The gain in logarithms that counts. */
function countingGain(series: Series, { baseline }: Evidence, { threshold, floor }: Bounds): number {
  const share = floor / figureOf(series, baseline);
  // A latency can fall by all of itself at most.
  const atFloor = series.unit !== "us" ? Math.log1p(share) : share < 1 ? -Math.log1p(-share) : Infinity;
  return Math.max(Math.log1p(threshold), atFloor);
}

function floorText({ unit }: Series, { floor }: Bounds): string {
  return unit === "us" ? `${floor} µs` : `${floor} GB/s`;
}
