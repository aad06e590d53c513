import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLaunchFolder, removeLaunchFolder } from "../../src/fleet/launch/launch-folder.js";
import { measureAsNode } from "../../src/fleet/launch/node-process.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";
import { pinbench, temporaryFolder } from "../helpers/run-cli.js";

test("a node without a driver fails with a remedy, and without advice to measure the emulated device", async () => {
  const folder = join(temporaryFolder(), ".fleet-run");
  const settings = fillRunSettings({ origin: "flag", values: { backend: "cuda" } });
  await createLaunchFolder(folder, { schemaVersion: 1, settings, labels: {}, nodeDeadlineNs: 60e9 });
  const { signal } = new AbortController();
  const env = { PINBENCH_NODE_NAME: "n01" };
  vi.stubEnv("PINBENCH_CUDA_LIBRARY", "libnone.so.1");
  onTestFinished(() => void vi.unstubAllEnvs());
  await measureAsNode(folder, { entry: pinbench, render: JSON.stringify, signal, env });
  expect(endIn(folder)).toMatchObject({
    state: "failed",
    reason: expect.stringMatching(/^The CUDA backend is not available: .* \(CUDA_VISIBLE_DEVICES, .*\)\.$/),
  });
});

/** A node whose process writes a result only when it is asked to end. */
async function startNode(nodeDeadlineNs: number) {
  const results = temporaryFolder();
  const folder = join(results, ".fleet-run");
  const settings = fillRunSettings({ origin: "flag", values: {} });
  await createLaunchFolder(folder, { schemaVersion: 1, settings, labels: {}, nodeDeadlineNs });
  const document = buildDocument({ backend: "emulated", cells: [buildCell({ GBps: 20 })] });
  const entry = join(temporaryFolder(), "program.mjs");
  const begun = join(entry, "../begun");
  writeFileSync(
    entry,
    `import { writeFileSync } from "node:fs";
    const end = () => {
      process.exitCode = 130;
      process.stdout.write(${JSON.stringify(JSON.stringify(document))});
    };
    if (process.connected) process.on("disconnect", end);
    else end();
    writeFileSync(${JSON.stringify(begun)}, "");`,
  );
  const controller = new AbortController();
  const { signal } = controller;
  const env = { PINBENCH_NODE_NAME: "n01" };
  const measuring = measureAsNode(folder, { entry, render: JSON.stringify, signal, env });
  await vi.waitUntil(() => existsSync(begun), { timeout: 30_000 });
  return { results, folder, measuring, interrupt: () => controller.abort() };
}

const endIn = (folder: string) => JSON.parse(readFileSync(join(folder, "n01.ended"), "utf8"));

test("a node stops if nobody waits for it any more, and leaves no result", async () => {
  const { results, folder, measuring } = await startNode(3600e9);
  await removeLaunchFolder(folder);
  await measuring;
  expect(readdirSync(results)).toEqual([]);
});

test("a node that exceeds its time limit reports that it is late, and leaves no result", async () => {
  const { results, folder, measuring } = await startNode(1e9);
  await measuring;
  expect(readdirSync(results)).toEqual([".fleet-run"]);
  expect(endIn(folder)).toMatchObject({ state: "late", file: null });
});

test("a node that is interrupted reports a failure, and leaves no result", async () => {
  const { results, folder, measuring, interrupt } = await startNode(3600e9);
  interrupt();
  await measuring;
  expect(readdirSync(results)).toEqual([".fleet-run"]);
  expect(endIn(folder)).toMatchObject({
    ...{ state: "failed", reason: "it was interrupted by a signal", file: null },
  });
});
