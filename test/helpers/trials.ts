import { appendFileSync } from "node:fs";
import { onTestFinished } from "vitest";

/**
 * Numbers of trials in test/faults, and the counts for docs/reliability.md. `npm test`
 * makes a few fixed trials of each kind; `npm run check -- faults` makes all, and sets the variables below.
 */

/** "full" for every trial; else the short form. */
const isFull = process.env.PINBENCH_TRIALS === "full";

/** The number of trials to make: `few` in the short form. */
export function trials(few: number, full: number): number {
  return isFull ? full : few;
}

/** Seed of random numbers and fast-check: fixed in the short form, printed in the full form. */
export const trialSeed = Number(process.env.PINBENCH_TRIAL_SEED ?? 1);

/** The file to which each line of `Trials` is appended; none if it is not set. */
const countsFile = process.env.PINBENCH_TRIAL_COUNTS;

/** One line of the table: the trial, its number, and the number that passed. */
export interface Trials {
  /** Such as "driver calls that fail". Lines with the same name are added up. */
  what: string;
  tried: number;
  survived: number;
}

/**
 * Counts the trials of one test while it runs, and records the counts at its end, also after a failure: a test that
 * fails at its third trial of ten shows as 2 of 3.
 */
export function countTrials(what: string): { tries(): void; survives(): void } {
  const counts: Trials = { what, tried: 0, survived: 0 };
  onTestFinished(() => {
    if (countsFile !== undefined) appendFileSync(countsFile, `${JSON.stringify(counts)}\n`);
  });
  return {
    tries: () => {
      ++counts.tried;
    },
    survives: () => {
      ++counts.survived;
    },
  };
}
