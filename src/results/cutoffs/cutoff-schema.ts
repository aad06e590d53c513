import { z } from "zod";
import { blockWays, memories } from "../../settings/choices.js";
import { KiB, MiB } from "../../settings/units.js";
import { count } from "../schema-parts.js";

/** A way to copy blocks, and the multiprocessors that its kernel keeps to; null for all, and for other ways. */
const waySchema = z.object({ way: z.enum(blockWays), multiprocessors: count.nullable() });

/** What `--blocks auto` found for one number of blocks: a column of its map. */
export const blockCutoffsSchema = z.object({
  device: count,
  direction: z.enum(["h2d", "d2h"]),
  memory: z.enum(memories),
  workers: count,
  /** Blocks of a copy. */
  blockCount: count,
  /** Those that were measured, ascending. */
  sizes: z.array(
    z.object({
      blockBytes: count,
      fastest: waySchema,
      /** Whether the copy engine, a kernel or the CPU is better than the others, in other processes too, by 2 % or more. */
      isCertain: z.boolean(),
    }),
  ),
  /** Where the best way changes, ascending. */
  cutoffs: z.array(
    z.object({
      /** The largest block at which `below` is the best for certain, and the smallest one of `above`. */
      leastBytes: count,
      mostBytes: count,
      /** Between the two: what to write into a configuration. */
      bytes: count,
      below: waySchema,
      above: waySchema,
    }),
  ),
});

/** What `--blocks auto` found for one number of blocks. */
export type BlockCutoffs = z.infer<typeof blockCutoffsSchema>;
/** A way to copy blocks. */
export type BlockWayRecord = z.infer<typeof waySchema>;

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
