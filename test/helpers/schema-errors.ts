import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";

/** A shipped schema, and a function that returns a document's errors, or null. */
function shipped(name: string) {
  const url = new URL(`../../schema/${name}`, import.meta.url);
  const schema = JSON.parse(readFileSync(url, "utf8")) as object;
  // The pattern next to it checks the same; the format itself would need another package.
  const validate = new Ajv2020({ formats: { "date-time": true } }).compile(schema);
  const errors = (document: unknown): typeof validate.errors => (validate(document) ? null : validate.errors);
  return { schema, errors };
}

export const { errors: schemaErrors } = shipped("result-v1.json");
export const { errors: tuningSchemaErrors } = shipped("tuning-v1.json");
export const { schema: shippedHistoryEntrySchema, errors: historyEntrySchemaErrors } =
  shipped("history-entry-v1.json");
export const { errors: historySchemaErrors } = shipped("history-v1.json");
