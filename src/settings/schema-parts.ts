import { z } from "zod";

export const count = z.number().int().nonnegative();
/** Nanoseconds; at most 30 years, so that sums stay finite. */
export const nanoseconds = z.number().nonnegative().max(1e18);

/** Figures in GB/s or µs beyond these are impossible, and their ratios can be infinite. */
export const leastFigure = 1e-9;
export const mostFigure = 1e12;

/** A figure; a measured cell's figure must also be above 0. */
export const finite = z.number().min(-mostFigure).max(mostFigure);
/** A share that may exceed 1, or a rate that may be 0. */
export const ratio = z.number().nonnegative().max(mostFigure);

export const errorSchema = z.object({
  code: z.string(),
  message: z.string(),
  /** "cuMemHostAlloc" …; null if no CUDA call failed. */
  call: z.string().nullable(),
  location: z.string().nullable(),
  /** Whether the context is lost, so that all later CUDA calls of the process fail. */
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
 * The JSON Schema (draft 2020-12) of a document, for a file in schema/. The zod schema has its $id, title and
 * description. Unknown properties are accepted where zod accepts them, so that later minor versions may add some.
 */
export function documentJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const written = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" });
  const { $schema, $id, title, description, ...body } = written;
  return { $schema, $id, title, description, ...body };
}
