// `npm run check:symbols [FILE…]`: whether what was built loads wherever Node does. Nothing newer than GLIBC_2.28, no
// shared libstdc++, and no export but what is meant to be one.
import { basename } from "node:path";
import { neededGlibc } from "./lib/dynamic-symbols.mjs";
import { checkPortability } from "./lib/portability.mjs";
import { main } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";

const built = ["build/Release/pinbench.node", "build/Release/libpinbench_emulated.so"].map((file) =>
  inRoot(file),
);

await main(async () => {
  const files = process.argv.length > 2 ? process.argv.slice(2) : built;
  await checkPortability(files);
  for (const file of files) console.log(`${basename(file)}: for glibc ${neededGlibc([file])} and newer`);
});
