// `node draw-outputs.mjs TESTS TOPIC...`: draws the outputs of test/outputs/drawn with the program of the current
// folder. TESTS is the folder whose outputs/drawn has the topics. The outputs go to PINBENCH_OUTPUTS.
import { startVitest } from "vitest/node";

const [tests, ...topics] = process.argv.slice(2);

const vitest = await startVitest("test", [], {
  config: false,
  watch: false,
  include: topics.map((topic) => `${tests}/outputs/drawn/${topic}.ts`),
  setupFiles: [`${tests}/helpers/each-file.ts`],
  maxWorkers: 1,
  testTimeout: 600_000,
  experimental: { fsModuleCache: true },
});
await vitest?.close();
