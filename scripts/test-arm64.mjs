// `npm run check -- arm64 [FILE…]`: runs the Node tests, or these files, on an arm64 Node under qemu, with files
// compiled for arm64 here. Leaves out tests that need torch, a browser or Slurm. `--build` only compiles.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endEmulatedNodes, requireEmulation, writeEmulatedNode } from "./lib/emulated-node.mjs";
import { buildFolder, crossBuild } from "./lib/platforms.mjs";
import { checkPortability } from "./lib/portability.mjs";
import { prebuiltFiles } from "./lib/prebuilt.mjs";
import { main, run, ScriptError } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";

const compiled = prebuiltFiles.map((file) => inRoot(buildFolder("arm64"), "Release", file));

await main(async () => {
  requireEmulation();
  await crossBuild("arm64", { quiet: true });
  await checkPortability(compiled);
  if (process.argv[2] === "--build") return;
  const folder = mkdtempSync(join(tmpdir(), "pinbench-arm64-"));
  // Some tests start this Node as another user.
  chmodSync(folder, 0o755);
  let left = 0;
  try {
    const node = await writeEmulatedNode(folder);
    const vitest = [inRoot("node_modules/vitest/vitest.mjs"), "run"];
    // vitest, which compiles TypeScript, runs on this machine's Node; its tests start arm64 processes.
    await run(process.execPath, [...vitest, ...process.argv.slice(2)], {
      cwd: root,
      env: {
        ...process.env,
        PINBENCH_TEST_VARIANT: "arm64",
        PINBENCH_ADDON: compiled[0],
        PINBENCH_TESTS_NODE: node,
      },
    });
  } finally {
    left = endEmulatedNodes(folder);
    rmSync(folder, { recursive: true, force: true });
  }
  if (left > 0) throw new ScriptError(`Tests left ${left} processes behind, which were killed.`);
});
