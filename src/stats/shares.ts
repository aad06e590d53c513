/** Shares of things counted: how often something comes, and how certain that is. */

/** `slow` of `runs`, of which there is at least one. */
interface Count {
  slow: number;
  runs: number;
}

/** The 97.5 % quantile of the standard normal distribution. */
const z = 1.959964;

/**
 * The 95 % interval of the share that a count estimates (E. B. Wilson, "Probable inference, the law of succession, and
 * statistical inference", Journal of the American Statistical Association 22, 1927): 0 to 1, also for none and for all.
 */
export function intervalOfShare({ slow, runs }: Count): { low: number; high: number } {
  const share = slow / runs;
  const centre = share + z ** 2 / (2 * runs);
  const halfWidth = z * Math.sqrt((share * (1 - share)) / runs + z ** 2 / (4 * runs ** 2));
  const scale = 1 + z ** 2 / runs;
  return { low: Math.max(0, (centre - halfWidth) / scale), high: Math.min(1, (centre + halfWidth) / scale) };
}

/**
 * The 95 % interval of the second count's share less the first one's (R. G. Newcombe, "Interval estimation for the
 * difference between independent proportions", Statistics in Medicine 17, 1998, method 10: from Wilson's intervals of both).
 */
export function differenceOfShares(first: Count, second: Count): { low: number; high: number } {
  const [one, two] = [intervalOfShare(first), intervalOfShare(second)];
  const [p, q] = [first.slow / first.runs, second.slow / second.runs];
  return {
    low: q - p - Math.hypot(q - two.low, one.high - p),
    high: q - p + Math.hypot(two.high - q, p - one.low),
  };
}
