import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/gpu/**", "test/package/**"],
    globalSetup: ["test/helpers/optional-programs.ts"],
    // Two at once at most: the tests start processes that copy memory with several threads of their own.
    maxWorkers: 2,
    testTimeout: 60_000,
  },
});
