// First step of `npm pack`: builds, checks the compiled files, copies them to prebuilds/, and sets file modes.
// `--without-kernels` works without nvcc, for trial packages that are not released.
import { rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { ensureBuilt } from "./lib/build.mjs";
import { ownArch } from "./lib/platforms.mjs";
import { copyPrebuilt, prebuiltFolder, shareModes } from "./lib/prebuilt.mjs";
import { main } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";

await main(async () => {
  const { values } = parseArgs({ options: { "without-kernels": { type: "boolean", default: false } } });
  await ensureBuilt({ quiet: true });
  rmSync(inRoot("prebuilds"), { recursive: true, force: true });
  await copyPrebuilt(inRoot(prebuiltFolder(ownArch)), { kernels: !values["without-kernels"] });
  await shareModes(root);
});
