import { z } from "zod";
import { blockWays, memories } from "../../settings/choices.js";
import { count } from "../../settings/schema-parts.js";
import { KiB, MiB } from "../../settings/units.js";

const waySchema = z.enum(blockWays);

export const blockCutoffsSchema = z.object({
  device: count,
  direction: z.enum(["h2d", "d2h"]),
  memory: z.enum(memories),
  workers: count,
  blockCount: count,
  /** The measured sizes, ascending. */
  sizes: z.array(
    z.object({
      blockBytes: count,
      fastest: waySchema,
      /** Whether copy engine, kernel or CPU is faster than the others by 5 % or more. */
      isCertain: z.boolean(),
    }),
  ),
  /** Where the best method changes, ascending. */
  cutoffs: z.array(
    z.object({
      /** The largest block for which `below` is clearly the best, and the smallest for `above`. */
      leastBytes: count,
      mostBytes: count,
      /** A size between the two, to configure. */
      bytes: count,
      below: waySchema,
      above: waySchema,
    }),
  ),
});

export type BlockCutoffs = z.infer<typeof blockCutoffsSchema>;

/* Block sizes that `--blocks auto` can measure: four per octave, including 28 KiB, where vLLM changes its method. */

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

/** The first sizes are this many steps apart (powers of 4). A method that wins only between two of them is missed. */
const coarseStep = 2 * stepsOfOctave;

export const coarseBytes: readonly number[] = latticeBytes.filter((_, i) => i % coarseStep === 0);

export function latticeIndex(bytes: number): number {
  return latticeBytes.indexOf(bytes);
}
