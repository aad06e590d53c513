import { z } from "zod";
import { resultSchema } from "./schema.js";

/**
 * The JSON Schema (draft 2020-12) of what a zod schema accepts, as a file of schema/. `name` is the file's without its
 * ending, such as "result-v1".
 */
export function documentJsonSchema(
  schema: z.ZodType,
  { name, title, description }: { name: string; title: string; description: string },
): Record<string, unknown> {
  const { $schema, ...body } = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" });
  return { $schema, $id: `urn:pinbench:schema:${name}`, title, description, ...body };
}

/**
 * The JSON Schema of the result document, as shipped in schema/result-v1.json. Like `parseResult` it accepts properties
 * that it does not know, so that a later minor version may add some.
 */
export function resultJsonSchema(): Record<string, unknown> {
  return documentJsonSchema(resultSchema, {
    name: "result-v1",
    title: "pinbench result, version 1",
    description:
      "One run of pinbench. Names end in their unit: Ns nanoseconds, Us microseconds, Bytes bytes, GBps decimal " +
      "gigabytes (1e9 bytes) a second. What is not known is null.",
  });
}
