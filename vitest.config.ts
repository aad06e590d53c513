import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/gpu/**", "test/package/**"],
    globalSetup: ["test/helpers/optional-programs.ts"],
    // Few at once: the tests start processes that copy memory with several threads of their own. One more than the least
    // machine has CPUs, as much of their time is waiting for trainings that play at computing.
    maxWorkers: 3,
    testTimeout: 60_000,
  },
});
