// What `npm ci` and `npm install` run at their end: the same as `npm run build`, without output unless it fails.
import { existsSync } from "node:fs";
import { ensureBuilt } from "./lib/build.mjs";
import { main } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";

const tools = ["typescript", "rolldown", "cmake-js", "node-addon-api"];
const missing = tools.filter((name) => !existsSync(inRoot("node_modules", name)));

if (missing.length > 0) {
  console.error(
    `pinbench: not built, because its development dependencies (${missing.join(", ")}) are not installed.`,
  );
} else {
  await main(() => ensureBuilt({ quiet: true }));
}
