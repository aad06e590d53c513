// Results of many nodes as files, for measuring what reading them takes.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const recorded = JSON.parse(
  readFileSync(new URL("../../results/nvidia-h200/default.json", import.meta.url), "utf8"),
);

/** Cells of one worker that the preset fleet measures as well, alone and in place of those together. */
const cells = recorded.cells.filter(({ memory, workers, sizeBytes }) => {
  return workers === 1 && memory !== "staged" && sizeBytes >= 64 * 1024 ** 2;
});

/**
 * Writes results of `count` nodes of 8 GPUs into a folder, each with the samples of a recorded run; the last node's GPU 3
 * copies at half the speed. Returns the size of one in bytes.
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
