import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";

/** schema/result-v1.json, as the package ships it. */
export const shippedSchema = JSON.parse(
  readFileSync(new URL("../../schema/result-v1.json", import.meta.url), "utf8"),
) as object;
// The pattern beside it checks the same; the format itself needs a package of its own.
const validate = new Ajv2020({ formats: { "date-time": true } }).compile(shippedSchema);

/** What the shipped JSON Schema finds wrong with a document; null for nothing. */
export function schemaErrors(document: unknown): typeof validate.errors {
  return validate(document) ? null : validate.errors;
}
