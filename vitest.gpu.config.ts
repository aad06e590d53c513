import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/gpu/**/*.test.ts"],
    globalSetup: ["test/gpu/setup.ts"],
    setupFiles: ["test/helpers/each-file.ts"],
    // One GPU: tests that copy at the same time would measure each other.
    fileParallelism: false,
    testTimeout: 120_000,
    // Hooks pin some gigabytes, which an emulated device does slowly.
    hookTimeout: 60_000,
  },
});
