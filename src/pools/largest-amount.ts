/** Between which amounts the limit is looked for, and how closely. */
export interface BisectionOptions {
  /** Known to be refused. */
  refusedBytes: number;
  /** Known to be had; 0 where nothing is known. */
  knownBytes: number;
  /** All amounts that are tried are multiples of it; it is the first one where nothing is known. */
  unitBytes: number;
  /** Amounts that are tried at most. */
  mostTries: number;
  /** Whether so much can be had. Rejects where that cannot be found out. */
  tryAmount: (bytes: number) => Promise<boolean>;
}

/**
 * The largest amount that can be had, to `unitBytes` or to the last of the tries: 0 where not even one unit can. It is one
 * that was tried, or known.
 */
export async function largestAmount(options: BisectionOptions): Promise<number> {
  const { refusedBytes, knownBytes, unitBytes, mostTries, tryAmount } = options;
  let low = Math.floor(knownBytes / unitBytes);
  let high = Math.ceil(refusedBytes / unitBytes);
  let tries = 0;
  if (low === 0) {
    if (high <= 1) return 0;
    ++tries;
    // Where registering is refused altogether, half of everything need not be tried.
    if (!(await tryAmount(unitBytes))) return 0;
    low = 1;
  }
  for (; high - low > 1 && tries < mostTries; ++tries) {
    const middle = Math.floor((low + high) / 2);
    if (await tryAmount(middle * unitBytes)) low = middle;
    else high = middle;
  }
  return Math.max(low * unitBytes, knownBytes);
}
