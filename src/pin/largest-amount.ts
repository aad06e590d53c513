/** Options of the search for the largest amount. */
export interface BisectionOptions {
  /** An amount known to be refused. */
  refusedBytes: number;
  /** An amount known to be granted; 0 for none. */
  knownBytes: number;
  /** All tried amounts are multiples of it; without a known amount it is tried first. */
  unitBytes: number;
  /** Most amounts that are tried. */
  mostTries: number;
  /** Whether there is time to try this amount. */
  mayTry: (bytes: number) => boolean;
  /** Whether this amount can be obtained. Rejects if that cannot be found out. */
  tryAmount: (bytes: number) => Promise<boolean>;
}

/** Both amounts were tried, or known before. */
export interface FoundAmount {
  /** 0 if not even one unit is granted. */
  largestBytes: number;
  /** The smallest refused amount. */
  refusedBytes: number;
}

/**
 * The largest amount that is granted, and the smallest that is refused: exact to `unitBytes`, or as near as tries and
 * time allow. Null if nothing could be tried and nothing was known.
 */
export async function largestAmount(options: BisectionOptions): Promise<FoundAmount | null> {
  const { knownBytes, unitBytes, mostTries, mayTry, tryAmount } = options;
  let { refusedBytes } = options;
  let low = Math.floor(knownBytes / unitBytes);
  let high = Math.ceil(refusedBytes / unitBytes);
  let tries = 0;
  if (low === 0) {
    if (high <= 1) return { largestBytes: knownBytes, refusedBytes };
    // If registering is always refused, half of everything need not be tried.
    if (!mayTry(unitBytes)) return knownBytes > 0 ? { largestBytes: knownBytes, refusedBytes } : null;
    ++tries;
    if (!(await tryAmount(unitBytes))) return { largestBytes: knownBytes, refusedBytes: unitBytes };
    low = 1;
  }
  for (; high - low > 1 && tries < mostTries; ++tries) {
    const middle = Math.floor((low + high) / 2);
    if (!mayTry(middle * unitBytes)) break;
    if (await tryAmount(middle * unitBytes)) {
      low = middle;
    } else {
      high = middle;
      refusedBytes = middle * unitBytes;
    }
  }
  return { largestBytes: Math.max(low * unitBytes, knownBytes), refusedBytes };
}
