// What `npm pack` runs first: builds, puts what users get compiled into prebuilds/, checked, with its sources, and evens
// out modes. With `--without-kernels` also where there is no nvcc, for trying out a package that is not handed out.
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
