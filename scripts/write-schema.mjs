// Writes schema/*.json from the compiled zod schemas. Run `npm run build` (or tsc) before.
import { mkdir, writeFile } from "node:fs/promises";
import { loadKind } from "../dist/kinds/document-kinds.js";
import { historyEntrySchema } from "../dist/results/history-entry.js";
import { configurationSchema } from "../dist/settings/configuration-schema.js";
import { documentFormats } from "../dist/settings/document-formats.js";
import { documentJsonSchema } from "../dist/settings/schema-parts.js";
import { described } from "./lib/published-schema.mjs";

const folder = new URL("../schema/", import.meta.url);
const write = (name, schema) =>
  writeFile(
    new URL(`${name}-v1.json`, folder),
    `${JSON.stringify(described(documentJsonSchema(schema)), null, 2)}\n`,
  );

await mkdir(folder, { recursive: true });
for (const kind of Object.keys(documentFormats)) await write(kind, (await loadKind(kind)).schema);
await write("config", configurationSchema);
await write("history-entry", historyEntrySchema);
