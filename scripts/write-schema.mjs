// Writes schema/result-v1.json from the compiled zod schema. Run `npm run build` (or tsc) before.
import { mkdir, writeFile } from "node:fs/promises";
import { resultJsonSchema } from "../dist/results/json-schema.js";

const folder = new URL("../schema/", import.meta.url);
await mkdir(folder, { recursive: true });
await writeFile(new URL("result-v1.json", folder), `${JSON.stringify(resultJsonSchema(), null, 2)}\n`);
