/** How a change is decided. All changes are of the logarithm of speed: losses are negative. */

/** Standard errors beyond which a group's change counts. */
const errorsOfGroup = 4;

/** The same for one cell against its group: there are many cells, and each has fewer figures. */
export const errorsOfCell = 6;

/** Standard errors of a cell against its group beyond which it is measured again. */
export const suspiciousErrorsOfCell = 3;

/** Standard errors below which a loss beyond the threshold is no finding. */
const errorsOfDoubt = 3;

const errorsOfSuspicion = 2;

export interface Change {
  change: number;
  standardError: number;
}

/** The logarithm of the loss that a threshold allows: 0.05 is 5 %. */
export function limitOf(threshold: number): number {
  return -Math.log1p(-threshold);
}

/** How many standard errors a change is: a prior's noise keeps each standard error above zero. */
export function errorsOf({ change, standardError }: Change): number {
  return Math.abs(change) / standardError;
}

export type Decision = "slower" | "faster" | "undecided" | "not slower";

/** Decides a change against a limit (`limitOf()`): it counts beyond the limit and `errors` standard errors. */
export function decide(one: Change, limit: number, errors = errorsOfGroup): Decision {
  if (Math.abs(one.change) <= limit) return "not slower";
  if (errorsOf(one) > errors) return one.change < 0 ? "slower" : "faster";
  return one.change < 0 && errorsOf(one) > errorsOfDoubt ? "undecided" : "not slower";
}

export function isSuspect(one: Change, limit: number, errors = errorsOfSuspicion): boolean {
  return one.change < -limit / 2 && errorsOf(one) > errors;
}

/**
 * The loss that a comparison finds in 39 of 40 cases: two standard errors more than what counts. A share of the speed,
 * 0.05 is 5 %.
 */
export function lossThatWouldShow(standardError: number, limit: number): number {
  return -Math.expm1(-(Math.max(limit, errorsOfGroup * standardError) + 2 * standardError));
}
