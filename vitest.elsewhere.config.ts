import { defineConfig } from "vitest/config";

// Tests of other machines than the developer's. `npm run check` runs one of the projects.
export default defineConfig({
  test: {
    // Every test measures: tests that copy at the same time would measure each other.
    fileParallelism: false,
    teardownTimeout: 60_000,
    projects: [
      {
        test: {
          name: "gpu",
          include: ["test/gpu/**/*.test.ts"],
          globalSetup: ["test/gpu/setup.ts"],
          setupFiles: ["test/helpers/each-file.ts"],
          testTimeout: 120_000,
          // Hooks pin some gigabytes, which an emulated device does slowly.
          hookTimeout: 60_000,
        },
      },
      {
        // What users get: packed, installed without compilers and run on every Node that is supported.
        test: {
          name: "package",
          include: ["test/package/**/*.test.ts"],
          globalSetup: ["test/package/install.ts", "test/helpers/optional-programs.ts"],
          testTimeout: 600_000,
          // Packs, installs, and fetches Nodes where they are not there yet.
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
