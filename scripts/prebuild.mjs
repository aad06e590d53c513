// The first step of `npm pack`: builds, checks the compiled files, copies them and their sources to prebuilds/, and sets
// file modes. `--without-kernels` works without nvcc, for trial packages that are not released.
import { parseArgs } from "node:util";
import { ensureBuilt } from "./lib/build.mjs";
import { copyPrebuilt, copySources, shareModes } from "./lib/prebuilt.mjs";
import { main } from "./lib/process.mjs";
import { root } from "./lib/project.mjs";

await main(async () => {
  const { values } = parseArgs({ options: { "without-kernels": { type: "boolean", default: false } } });
  await ensureBuilt({ quiet: true });
  await copyPrebuilt({ kernels: !values["without-kernels"] });
  copySources();
  await shareModes(root);
});
