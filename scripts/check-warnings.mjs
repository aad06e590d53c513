// `npm run check -- warnings`: compiles all shipped C++ with warnings as errors.
import { buildAddon } from "./lib/native-build.mjs";
import { main } from "./lib/process.mjs";

await main(() =>
  buildAddon("build/check", { PINBENCH_WERROR: "ON", PINBENCH_BUILD_BENCH: "ON" }, { quiet: true }),
);
