// Seeded random numbers: the same seed gives the same figures everywhere.

/** Uniform in [0, 1): mulberry32 (T. Ettinger), 2^32 states, which is plenty for a simulation. */
export function seededRandom(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Normal numbers with mean 0 and deviation 1 (G. E. P. Box and M. E. Muller, 1958). */
export function normalsOf(random) {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
