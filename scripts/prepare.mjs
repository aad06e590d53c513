// The last step of `npm ci` and `npm install`: `npm run build`, without output unless it fails.
import { existsSync, writeFileSync } from "node:fs";
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
  announce();
  await main(() => ensureBuilt({ quiet: true }));
}

/** Writes to the terminal directly, because npm hides its scripts' output. */
function announce() {
  try {
    writeFileSync("/dev/tty", "\rpinbench: compiling, which takes a minute or two the first time\n");
  } catch {
    // Without a terminal the line is not needed.
  }
}
