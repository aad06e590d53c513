import { z } from "zod";
import { blockWays, memories } from "../../settings/choices.js";
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
