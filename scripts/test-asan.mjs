// `npm run check -- asan`: the Node tests with AddressSanitizer and UBSan in the addon and the emulated driver,
// compiled with warnings as errors. `--build` only compiles; other arguments go to vitest.
import { buildAddon } from "./lib/native-build.mjs";
import { main, run } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { compilerLibrary } from "./lib/toolchain.mjs";

const folder = "build/asan";

await main(async () => {
  await buildAddon(
    folder,
    { PINBENCH_SANITIZE: "address", PINBENCH_KERNELS: "OFF", PINBENCH_WERROR: "ON" },
    { quiet: true },
  );
  if (process.argv[2] === "--build") return;
  // Node is not instrumented, so the sanitizers must be loaded before the addon. libstdc++ must be loaded too, because
  // the sanitizers look up its functions when they start.
  const preload = await Promise.all(["libasan.so", "libubsan.so", "libstdc++.so"].map(compilerLibrary));
  const vitest = [inRoot("node_modules/vitest/vitest.mjs"), "run", ...process.argv.slice(2)];
  await run(process.execPath, vitest, {
    cwd: root,
    env: {
      ...process.env,
      PINBENCH_TEST_VARIANT: "asan",
      LD_PRELOAD: preload.join(":"),
      // Node frees little memory at exit.
      ASAN_OPTIONS: "detect_leaks=0",
      UBSAN_OPTIONS: "print_stacktrace=1",
      PINBENCH_ADDON: inRoot(folder, "Release/pinbench.node"),
    },
  });
});
