// What `npm pack` runs first: builds, and puts what users get compiled into prebuilds/, checked. With
// `--without-kernels` also where there is no nvcc, for trying out a package that is not handed out.
import { parseArgs } from "node:util";
import { ensureBuilt } from "./lib/build.mjs";
import { copyPrebuilt } from "./lib/prebuilt.mjs";
import { main } from "./lib/process.mjs";

await main(async () => {
  const { values } = parseArgs({ options: { "without-kernels": { type: "boolean", default: false } } });
  await ensureBuilt({ quiet: true });
  await copyPrebuilt({ kernels: !values["without-kernels"] });
});
