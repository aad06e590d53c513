import { statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import { openFor, options, skipWithoutTorch, temporaryFolder, until, workers } from "./support.js";

const fileBytes = 2 ** 20;
const files = 16;

/** Of what is in memory alone, nothing ever comes from storage. */
const memoryFileSystems = [0x01021994, 0x858458f6];

describe("files that a data set reads", () => {
  skipWithoutTorch();

  it("come from storage only in trials for which they leave the page cache", async ({ skip }) => {
    const folder = temporaryFolder();
    skip(memoryFileSystems.includes(statfsSync(folder).type), "temporary files are in memory here");
    for (let file = 0; file < files; ++file)
      writeFileSync(join(folder, `${file}`), Buffer.alloc(fileBytes, 1));
    const readBytes = async (coldFolder: string | null) => {
      const probe = await openFor("data_sets.py:Files", { batchSize: 2, kwargs: { folder }, coldFolder });
      const trials = [];
      for (const setting of [workers(0), workers(1)]) trials.push(await probe.measure(setting, until(8)));
      return trials.map(({ failure, storageReadBytes }) => failure ?? storageReadBytes);
    };
    for (const bytes of await readBytes(folder)) expect(bytes).toBeGreaterThan((files / 2) * fileBytes);
    for (const bytes of await readBytes(null)) expect(bytes).toBeLessThan((files / 2) * fileBytes);
  });

  it("have to be somewhere", async () => {
    const opening = openTorchProbe(options("data_sets.py:make", { batchSize: 2, coldFolder: "nowhere" }));
    await expect(opening).rejects.toMatchObject({ kind: "usage", message: "There is no folder nowhere." });
  });
});
