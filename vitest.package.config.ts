import { defineConfig } from "vitest/config";

// What users get: packed, installed without compilers and run on every Node that is supported.
export default defineConfig({
  test: {
    include: ["test/package/**/*.test.ts"],
    globalSetup: ["test/package/install.ts", "test/helpers/optional-programs.ts"],
    // Every test measures, and the machine may have two CPUs.
    fileParallelism: false,
    testTimeout: 60_000,
    // Packs, installs, and fetches Nodes where they are not there yet.
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
  },
});
