import { z } from "zod";

/*
 * What the schemas of a result are made of.
 */

/** A whole number from 0 up. */
export const count = z.number().int().nonnegative();
/** A duration; 30 years at most, so that what is computed of several stays a number. */
export const nanoseconds = z.number().nonnegative().max(1e18);

/** Below and above these a figure, in GB/s or in microseconds, is no machine's, and ratios of two may be no numbers. */
export const leastFigure = 1e-9;
export const mostFigure = 1e12;

/** A figure; that of a measured cell is above 0 as well. */
export const finite = z.number().min(-mostFigure).max(mostFigure);
/** A share that may be above 1, or a rate that may be 0. */
export const ratio = z.number().nonnegative().max(mostFigure);

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

/** What NVML says of the link and the clocks at one moment; a field is null where the device does not tell. */
export type LinkRecord = z.infer<typeof linkSchema>;
/** An error of a cell or of a run. */
export type ErrorRecord = z.infer<typeof errorSchema>;

/** What obtaining a buffer takes. */
export const pinningCostSchema = z.object({
  /** Until the buffer is ready: for registered memory mapping, first touch and registering. */
  allocateNs: nanoseconds,
  freeNs: nanoseconds,
  hugePageBytes: count.nullable(),
});

/** What obtaining one buffer took, and giving it back. */
export type PinningCost = z.infer<typeof pinningCostSchema>;

/**
 * The JSON Schema (draft 2020-12) of what a document's zod schema accepts, as a file of schema/; the zod schema has its
 * $id, title and description. Like the zod schema it accepts properties that it does not know where that does, so that
 * a later minor version may add some.
 */
export function documentJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const written = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" });
  const { $schema, $id, title, description, ...body } = written;
  return { $schema, $id, title, description, ...body };
}
