import { z } from "zod";
import { comparisonSchema } from "./comparison.js";

/** The JSON Schema (draft 2020-12) of a comparison, as shipped in schema/comparison-v1.json. */
export function comparisonJsonSchema(): Record<string, unknown> {
  const { $schema, ...body } = z.toJSONSchema(comparisonSchema, { target: "draft-2020-12", io: "input" });
  return {
    $schema,
    $id: "urn:pinbench:schema:comparison-v1",
    title: "pinbench comparison, version 1",
    description:
      "What pinbench compare and pinbench check print with --json. Changes are relative to the baseline (-0.06 is " +
      "6 % less); figures are in the cell's unit; what is not known is null.",
    ...body,
  };
}
