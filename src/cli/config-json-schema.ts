import { z } from "zod";
import { configSchema } from "./config-schema.js";

/**
 * The JSON Schema (draft 2020-12) of pinbench.config.json, as shipped in schema/config-v1.json. It knows the shape;
 * what the text of a value may say, such as "64KiB", pinbench alone checks.
 */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...body } = z.toJSONSchema(configSchema, { target: "draft-2020-12", io: "input" });
  return {
    $schema,
    $id: "urn:pinbench:schema:config-v1",
    title: "pinbench configuration, version 1",
    description:
      "pinbench.config.json, or the key pinbench of package.json. Flags win over it. Values are written as on the " +
      "command line: sizes as 64KiB, shares as 5%, durations as 8s; lists as text with commas or as arrays.",
    ...body,
  };
}
