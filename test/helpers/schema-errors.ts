import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";

/** A schema as the package ships it, and what it finds wrong with a document: null for nothing. */
function shipped(name: string) {
  const url = new URL(`../../schema/${name}`, import.meta.url);
  const schema = JSON.parse(readFileSync(url, "utf8")) as object;
  // The pattern beside it checks the same; the format itself needs a package of its own.
  const validate = new Ajv2020({ formats: { "date-time": true } }).compile(schema);
  const errors = (document: unknown): typeof validate.errors => (validate(document) ? null : validate.errors);
  return { schema, errors };
}

export const { errors: schemaErrors } = shipped("result-v1.json");
export const { errors: tuningSchemaErrors } = shipped("tuning-v1.json");
export const { schema: shippedHistoryEntrySchema, errors: historyEntrySchemaErrors } =
  shipped("history-entry-v1.json");
export const { errors: historySchemaErrors } = shipped("history-v1.json");
