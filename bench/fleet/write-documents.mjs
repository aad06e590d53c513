// Writes result files of many nodes, to measure how long reading them takes.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const recorded = JSON.parse(
  readFileSync(new URL("../../results/nvidia-h200/default.json", import.meta.url), "utf8"),
);

/** The recorded one-worker cells that stand for those of the fleet preset, both alone and together. */
const cells = recorded.cells.filter(({ memory, workers, sizeBytes }) => {
  return workers === 1 && memory !== "staged" && sizeBytes >= 64 * 1024 ** 2;
});

/**
 * Writes results of `count` nodes with 8 GPUs, with the samples of a recorded run. GPU 3 of the last node copies at
 * half the speed. Returns the bytes of one result.
 */
export function writeDocuments(folder, count) {
  mkdirSync(folder, { recursive: true });
  let text = "";
  for (let node = 0; node < count; ++node) {
    const slow = (gpu) => (node === count - 1 && gpu === 3 ? 2 : 1);
    text = `${JSON.stringify(documentOf(node, slow), null, 2)}\n`;
    writeFileSync(join(folder, `n${node}.json`), text);
  }
  return text.length;
}

function documentOf(node, timesAsLong) {
  const gpus = Array.from({ length: 8 }, (_, gpu) => gpu);
  return {
    ...recorded,
    run: { ...recorded.run, id: `run-${node}` },
    host: { ...recorded.host, hostname: `n${node}` },
    devices: gpus.map((ordinal) => ({ ...recorded.devices[0], ordinal, uuid: `GPU-${node}-${ordinal}` })),
    fingerprint: { ...recorded.fingerprint, gpuCount: "8" },
    cells: gpus.flatMap((gpu) =>
      cells.map((cell) => ({
        ...cell,
        id: cell.id.replace("d0/", `d${gpu}/`),
        device: gpu,
        stats: cell.stats.map((one) => ({
          ...one,
          bandwidthGBps: slower(one.bandwidthGBps, timesAsLong(gpu)),
        })),
      })),
    ),
  };
}

function slower(distribution, times) {
  const figures = ["median", "min", "max", "low", "high"].map((key) => [key, distribution[key] / times]);
  return { ...distribution, ...Object.fromEntries(figures) };
}
