/** Decides whether a change counts. All changes are of the logarithm of speed, so losses are negative. */

/** A group's change counts beyond this many standard errors. */
const errorsOfGroup = 4;

/** The same for a cell compared with its group: there are more cells, and each has fewer figures. */
export const errorsOfCell = 6;

/** A cell is measured again if it is slower than its group by more than this many standard errors. */
export const suspiciousErrorsOfCell = 3;

/** A loss beyond the threshold is not reported below this many standard errors. */
const errorsOfDoubt = 3;

const errorsOfSuspicion = 2;

export interface Change {
  change: number;
  standardError: number;
}

/** The largest loss that a threshold allows, as a positive logarithm: a threshold of 0.05 is 5 %. */
export function limitOf(threshold: number): number {
  return -Math.log1p(-threshold);
}

/** Size of a change in standard errors, which are never 0 because of the prior's noise. */
export function errorsOf({ change, standardError }: Change): number {
  return Math.abs(change) / standardError;
}

export type Decision = "slower" | "faster" | "undecided" | "not slower";

/** Decides a change: it counts beyond the limit (`limitOf()`) and beyond `errors` standard errors. */
export function decide(one: Change, limit: number, errors = errorsOfGroup): Decision {
  if (Math.abs(one.change) <= limit) return "not slower";
  if (errorsOf(one) > errors) return one.change < 0 ? "slower" : "faster";
  return one.change < 0 && errorsOf(one) > errorsOfDoubt ? "undecided" : "not slower";
}

export function isSuspect(one: Change, limit: number, errors = errorsOfSuspicion): boolean {
  return one.change < -limit / 2 && errorsOf(one) > errors;
}

/**
 * The loss that a comparison finds in 39 of 40 cases: two standard errors beyond what counts. Relative: 0.05 is 5 %.
 */
export function lossThatWouldShow(standardError: number, limit: number): number {
  return -Math.expm1(-(Math.max(limit, errorsOfGroup * standardError) + 2 * standardError));
}
