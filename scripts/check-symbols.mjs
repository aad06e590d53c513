// `npm run check -- symbols [FILE…]`: whether built files load wherever Node does. They may need at most GLIBC_2.28, no
// shared libstdc++, and must export only the intended symbols.
import { basename } from "node:path";
import { neededGlibc } from "./lib/dynamic-symbols.mjs";
import { checkPortability } from "./lib/portability.mjs";
import { prebuiltFiles } from "./lib/prebuilt.mjs";
import { main } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";

const built = prebuiltFiles.map((file) => inRoot("build/Release", file));

await main(async () => {
  const files = process.argv.length > 2 ? process.argv.slice(2) : built;
  await checkPortability(files);
  for (const file of files) console.log(`${basename(file)}: for glibc ${neededGlibc([file])} and newer`);
});
