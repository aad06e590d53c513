import { defineConfig } from "vitest/config";

/** What loads the addon and gives it something new to do: instrumented, anything else finds nothing and takes long. */
const nativeTests = [
  "test/native-loading/{backend,beside,blocks,company,health,load,peer-copies,probe,training-loader}.test.ts",
  "test/index/{pin,run}.test.ts",
  "test/cli/{faults,run-at-once,run-between-devices,run-blocks,run-cells,run-together,verify-every}.test.ts",
  "test/faults/{block-corruption,corruption,driver-calls,native-boundary,native-lifetimes}.test.ts",
  "test/tune/model/model-probe.test.ts",
];

export default defineConfig({
  test: {
    include: nativeTests,
    globalSetup: ["test/helpers/optional-programs.ts"],
    setupFiles: ["test/helpers/each-file.ts"],
    maxWorkers: 2,
    testTimeout: 60_000,
    // What a hook measures takes several times as long with AddressSanitizer.
    hookTimeout: 60_000,
  },
});
