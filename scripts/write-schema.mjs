// Writes schema/*.json from the compiled zod schemas. Run `npm run build` (or tsc) before.
import { mkdir, writeFile } from "node:fs/promises";
import { comparisonSchema } from "../dist/compare/comparison.js";
import { historySchema } from "../dist/compare/history-document.js";
import { diagnosisSchema } from "../dist/doctor/diagnosis.js";
import { explanationSchema } from "../dist/explain/explanation.js";
import { fleetSchema } from "../dist/fleet/fleet-document.js";
import { pinningSchema } from "../dist/pin/pinning-document.js";
import { historyEntrySchema } from "../dist/results/history-entry.js";
import { resultSchema } from "../dist/results/schema.js";
import { tuningSchema } from "../dist/results/tuning.js";
import { configurationSchema } from "../dist/settings/configuration-schema.js";
import { documentJsonSchema } from "../dist/settings/json-schema.js";

const schemas = {
  "result-v1.json": resultSchema,
  "config-v1.json": configurationSchema,
  "comparison-v1.json": comparisonSchema,
  "history-v1.json": historySchema,
  "history-entry-v1.json": historyEntrySchema,
  "tuning-v1.json": tuningSchema,
  "diagnosis-v1.json": diagnosisSchema,
  "fleet-v1.json": fleetSchema,
  "pinning-v1.json": pinningSchema,
  "explanation-v1.json": explanationSchema,
};

const folder = new URL("../schema/", import.meta.url);
await mkdir(folder, { recursive: true });
for (const [name, schema] of Object.entries(schemas)) {
  await writeFile(new URL(name, folder), `${JSON.stringify(documentJsonSchema(schema), null, 2)}\n`);
}
