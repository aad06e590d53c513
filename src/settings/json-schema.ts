import { z } from "zod";

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
