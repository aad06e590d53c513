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
  /** Whether there is time to try this amount. */
  mayTry: (bytes: number) => boolean;
  /** Whether this amount can be obtained. Rejects if that cannot be found out. */
  tryAmount: (bytes: number) => Promise<boolean>;
}

/** Both were tried, or known before. */
export interface FoundAmount {
  /** 0 where not even one unit can be had. */
  largestBytes: number;
  /** The least that was refused. */
  refusedBytes: number;
}

/**
 * The largest amount that can be had, and the least that cannot: to `unitBytes`, or as near as the tries and the time bring
 * them. Null where nothing could be tried and nothing was known.
 */
export async function largestAmount(options: BisectionOptions): Promise<FoundAmount | null> {
  const { knownBytes, unitBytes, mostTries, mayTry, tryAmount } = options;
  let { refusedBytes } = options;
  let low = Math.floor(knownBytes / unitBytes);
  let high = Math.ceil(refusedBytes / unitBytes);
  let tries = 0;
  if (low === 0) {
    if (high <= 1) return { largestBytes: knownBytes, refusedBytes };
    // Where registering is refused altogether, half of everything need not be tried.
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
