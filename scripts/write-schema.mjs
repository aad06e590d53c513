// Writes schema/*.json from the compiled zod schemas. Run `npm run build` (or tsc) before.
import { mkdir, writeFile } from "node:fs/promises";
import { comparisonJsonSchema } from "../dist/compare/comparison.js";
import { resultJsonSchema } from "../dist/results/json-schema.js";
import { tuningJsonSchema } from "../dist/results/tuning.js";
import { configurationJsonSchema } from "../dist/settings/configuration-schema.js";

const schemas = {
  "result-v1.json": resultJsonSchema(),
  "config-v1.json": configurationJsonSchema(),
  "comparison-v1.json": comparisonJsonSchema(),
  "tuning-v1.json": tuningJsonSchema(),
};

const folder = new URL("../schema/", import.meta.url);
await mkdir(folder, { recursive: true });
for (const [name, schema] of Object.entries(schemas)) {
  await writeFile(new URL(name, folder), `${JSON.stringify(schema, null, 2)}\n`);
}
