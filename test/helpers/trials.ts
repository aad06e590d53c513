import { appendFileSync } from "node:fs";
import { onTestFinished } from "vitest";

/**
 * How often the tests of test/faults try what they try, and the counts that docs/reliability.md is made of. `npm test`
 * tries little of everything, always the same; `npm run test:faults` tries all of it, and sets the variables below.
 */

/** "full" for every trial; else the short form. */
const isFull = process.env.PINBENCH_TRIALS === "full";

/** The number of trials to make: `few` in the short form. */
export function trials(few: number, full: number): number {
  return isFull ? full : few;
}

/** What random numbers begin with, and fast-check: the same in each short form; a full one says which it took. */
export const trialSeed = Number(process.env.PINBENCH_TRIAL_SEED ?? 1);

/** Where each line of `Trials` is appended; nowhere if it is not set. */
const countsFile = process.env.PINBENCH_TRIAL_COUNTS;

/** One line of the table: the trial, its number, and the number that passed. */
export interface Trials {
  /** Such as "driver calls that fail". Lines of one name are added up. */
  what: string;
  tried: number;
  survived: number;
}

/**
 * Counts the trials of one test while it runs, and hands the counts over when it ends, however it ends: a test that
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
