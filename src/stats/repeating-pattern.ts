import { fisherTail } from "./hypothesis-tests.js";
import { median } from "./order-statistics.js";
import { mean, squaresAboutMean } from "./variance.js";

/** A pattern that a course repeats. */
export interface RepeatingPattern {
  /**
   * Median distance of each phase from the course's level, in the values' unit; null for a phase without enough values.
   */
  profile: (number | null)[];
  /** Share of the variance of ranks that the phase explains, minus the share that it would explain by chance. */
  share: number;
}

/** Fewest values of each phase. */
const fewestCycles = 3;
/** Smallest share of the variance that the phase must explain: less is not visible in a chart. */
const leastShare = 0.5;

/**
 * The pattern with this period in evenly spaced values, null for a missing value. Returns null without a clear pattern.
 * The level is the centred moving average over one period, as in classical decomposition (M. G. Kendall and A. Stuart,
 * "The Advanced Theory of Statistics", volume 3, chapter 46). An analysis of variance of the distances' ranks by phase
 * (W. J. Conover and R. L. Iman, "Rank transformations as a bridge between parametric and nonparametric statistics",
 * The American Statistician 35, 1981) must then give a p-value of at most `chance`. Its F is reduced by the average's
 * effect on the noise, and by the lag-1 correlation of the remainder.
 */
export function repeatingPattern(
  values: readonly (number | null)[],
  period: number,
  chance: number,
): RepeatingPattern | null {
  const levels = movingLevels(values, period);
  const phases = Array.from({ length: period }, (): { at: number; distance: number }[] => []);
  for (const [at, level] of levels.entries()) {
    if (level !== null) phases[at % period]!.push({ at, distance: values[at]! - level });
  }
  const usable = phases.filter(({ length }) => length >= fewestCycles);
  const members = usable.flat().sort((a, b) => a.distance - b.distance);
  if (usable.length < 2) return null;
  const rankAt = new Map(members.map(({ at }, rank) => [at, rank]));
  const total = squaresAboutMean(members.map((_, rank) => rank));
  const left = new Map<number, number>();
  for (const phase of usable) {
    const centre = mean(phase.map(({ at }) => rankAt.get(at)!));
    for (const { at } of phase) left.set(at, rankAt.get(at)! - centre);
  }
  const within = [...left.values()].reduce((sum, one) => sum + one ** 2, 0);
  const between = usable.length - 1;
  const freedom = members.length - usable.length;
  const share = 1 - (within * (members.length - 1)) / (total * freedom);
  if (share < leastShare) return null;
  const inflation = correlationFactor(left) / averagingFactor(usable.length);
  const f = (total - within) / between / (within / freedom) / inflation;
  if (fisherTail(f, between, freedom) > chance) return null;
  const profile = phases.map((phase) =>
    phase.length < fewestCycles ? null : median(phase.map(({ distance }) => distance)),
  );
  return { profile, share };
}

/** The mean over a period around each value, with equal weights of all phases; null too close to an end. */
function movingLevels(values: readonly (number | null)[], period: number): (number | null)[] {
  const reach = Math.floor(period / 2);
  return values.map((value, i) => {
    if (value === null || i < reach || i + reach >= values.length) return null;
    // The two ends of an even period have the same phase.
    const isEven = period % 2 === 0;
    const ends = isEven ? [values[i - reach]!, values[i + reach]!].filter((one) => one !== null) : [];
    const inner = values.slice(i - reach + (isEven ? 1 : 0), i + reach + (isEven ? 0 : 1));
    const phases = [...inner.filter((one) => one !== null), ...(ends.length === 0 ? [] : [mean(ends)])];
    return phases.length < 2 ? null : mean(phases);
  });
}

/**
 * Share of the variance of independent values that remains after subtracting a centred average over this many phases;
 * its two ends may have one phase.
 */
function averagingFactor(phases: number): number {
  const weight = 1 / phases;
  return (1 - weight) ** 2 + (phases - 2) * weight ** 2 + weight ** 2 / 2;
}

/** Factor by which lag-1 correlation raises the variance of a mean (first-order autoregression); 1 without any. */
function correlationFactor(left: ReadonlyMap<number, number>): number {
  let [products, squares] = [0, 0];
  for (const [at, one] of left) {
    squares += one ** 2;
    products += one * (left.get(at + 1) ?? 0);
  }
  const correlation = Math.max(0, Math.min(0.9, products / squares));
  return (1 + correlation) / (1 - correlation);
}

/** Shortest period of the search: with two, the values alternate. */
const shortestPeriod = 3;
/** In a longer period, each cycle consists of drifts and steps that a fit finds. */
const longestPeriod = 30;
/** Fewest periods that must be seen. */
const fewestPeriods = 4;
/** In a longer course, only the newest values show whether it repeats itself now. */
const mostValues = 300;

/**
 * The shortest of the periods that explain the values nearly best, from 3 up to a quarter of their number, with its
 * pattern, whose phase 0 is that of the first value. `chance` is that of any pattern in independent values
 * (Bonferroni). Null without a pattern.
 */
export function periodicPattern(
  values: readonly number[],
  chance: number,
): (RepeatingPattern & { period: number }) | null {
  const skipped = Math.max(0, values.length - mostValues);
  const newest = values.slice(skipped);
  const longest = Math.min(longestPeriod, Math.floor(newest.length / fewestPeriods));
  const periods = Array.from(
    { length: Math.max(0, longest - shortestPeriod + 1) },
    (_, i) => i + shortestPeriod,
  );
  const found = periods.flatMap((period) => {
    const pattern = repeatingPattern(newest, period, chance / periods.length);
    return pattern === null ? [] : [{ ...pattern, period }];
  });
  // Multiples of a period explain as much as the period.
  const most = Math.max(...found.map(({ share }) => share));
  const best = found.find(({ share }) => share >= most - 0.05);
  if (best === undefined) return null;
  const { period, profile } = best;
  const shift = skipped % period;
  return { ...best, profile: profile.map((_, phase) => profile[(phase - shift + period) % period]!) };
}
