import { z } from "zod";

export const count = z.number().int().nonnegative();
/** A duration; at most 30 years, so that sums stay finite. */
export const nanoseconds = z.number().nonnegative().max(1e18);

/** Figures outside of these, in GB/s or in microseconds, are impossible, and their ratios may not be finite. */
export const leastFigure = 1e-9;
export const mostFigure = 1e12;

/** A figure; that of a measured cell is also above 0. */
export const finite = z.number().min(-mostFigure).max(mostFigure);
/** A share that may be above 1, or a rate that may be 0. */
export const ratio = z.number().nonnegative().max(mostFigure);

export const errorSchema = z.object({
  code: z.string(),
  message: z.string(),
  /** "cuMemHostAlloc" …; null if no CUDA call failed. */
  call: z.string().nullable(),
  location: z.string().nullable(),
  /** The context is lost: every later CUDA call of that process fails too. */
  sticky: z.boolean(),
});

export const linkSchema = z.object({
  generation: count.nullable(),
  width: count.nullable(),
  maxGeneration: count.nullable(),
  maxWidth: count.nullable(),
  smClockMHz: count.nullable(),
  memoryClockMHz: count.nullable(),
});

export type LinkRecord = z.infer<typeof linkSchema>;
export type ErrorRecord = z.infer<typeof errorSchema>;

export const pinningCostSchema = z.object({
  /** Until the buffer is ready: for registered memory this includes mapping, first touch and registering. */
  allocateNs: nanoseconds,
  freeNs: nanoseconds,
  hugePageBytes: count.nullable(),
});

export type PinningCost = z.infer<typeof pinningCostSchema>;

/**
 * The JSON Schema (draft 2020-12) of a document's zod schema, for a file of schema/; the zod schema has its $id, title
 * and description. It also accepts unknown properties where the zod schema does, so that a later minor version may add
 * some.
 */
export function documentJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const written = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" });
  const { $schema, $id, title, description, ...body } = written;
  return { $schema, $id, title, description, ...body };
}
