import { z } from "zod";
import { resultSchema } from "./schema.js";

/**
 * The JSON Schema (draft 2020-12) of the result document, as shipped in schema/result-v1.json. Like `parseResult`
 * it lets properties pass that it does not know, so that a later minor version may add some.
 */
export function resultJsonSchema(): Record<string, unknown> {
  const { $schema, ...body } = z.toJSONSchema(resultSchema, { target: "draft-2020-12", io: "input" });
  return {
    $schema,
    $id: "urn:pinbench:schema:result-v1",
    title: "pinbench result, version 1",
    description:
      "One run of pinbench. Names end in their unit: Ns nanoseconds, Us microseconds, Bytes bytes, GBps decimal " +
      "gigabytes (1e9 bytes) a second. What is not known is null.",
    ...body,
  };
}
