import { z } from "zod";

/*
 * What the schemas of a result are made of.
 */

/** A whole number from 0 up. */
export const count = z.number().int().nonnegative();
/** A duration. */
export const nanoseconds = z.number().nonnegative();
/** Any number but an infinity and none. */
export const finite = z.number();

/** An error of a cell or of a run. */
export const errorSchema = z.object({
  code: z.string(),
  message: z.string(),
  /** "cuMemHostAlloc" …; null where no call of CUDA failed. */
  call: z.string().nullable(),
  location: z.string().nullable(),
  /** The context is lost: every later CUDA call of that process fails too. */
  sticky: z.boolean(),
});

/** What NVML says of the link and the clocks at one moment. */
export const linkSchema = z.object({
  generation: count.nullable(),
  width: count.nullable(),
  maxGeneration: count.nullable(),
  maxWidth: count.nullable(),
  smClockMHz: count.nullable(),
  memoryClockMHz: count.nullable(),
});
