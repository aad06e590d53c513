import { KiB, MiB } from "../../settings/units.js";

/*
 * The block sizes among which `--blocks auto` searches. Each octave has four: 28 KiB, where vLLM changes its way, is one.
 */

const leastBytes = 4 * KiB;
const mostBytes = MiB;
const stepsOfOctave = 4;

/** Ascending, each a whole number of KiB. */
export const latticeBytes: readonly number[] = [...octaves(), mostBytes];

function octaves(): number[] {
  const sizes: number[] = [];
  for (let octave = leastBytes; octave < mostBytes; octave *= 2) {
    for (let step = 0; step < stepsOfOctave; ++step) sizes.push(octave + (step * octave) / stepsOfOctave);
  }
  return sizes;
}

/** The first sizes measured are this many steps apart: powers of 4. A way that is best only between two of these is missed. */
const coarseStep = 2 * stepsOfOctave;

/** The sizes that are measured before anything is known. */
export const coarseBytes: readonly number[] = latticeBytes.filter((_, place) => place % coarseStep === 0);

/** Where a size stands in the lattice; -1 for one that does not. */
export function placeOf(bytes: number): number {
  return latticeBytes.indexOf(bytes);
}
