import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/gpu/**/*.test.ts"],
    // One GPU: tests that copy at the same time would measure each other.
    fileParallelism: false,
    testTimeout: 120_000,
  },
});
