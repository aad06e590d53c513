// A result document of any size, made from a small one that the emulated device measured.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { cellId } from "../../dist/results/cell-id.js";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));
const small =
  "run --backend emulated --no-config --sizes 64KiB --workers 1 --memory pinned --direction h2d --samples 6 --json --quiet";

/** Makes a number of cells, of consecutive sizes, with a number of samples each. */
export function largeResult({ cells, samples, random }) {
  const { stdout } = spawnSync(process.execPath, [cli, ...small.split(" ")], { encoding: "utf8" });
  const document = JSON.parse(stdout);
  const [model] = document.cells;
  document.cells = Array.from({ length: cells }, (_, i) => {
    const cell = { ...model, sizeBytes: 4096 * (i + 1) };
    const durationNs = Array.from({ length: samples }, () => 5e6 * (1 + 0.01 * random()));
    return {
      ...cell,
      id: cellId(cell),
      samples: [
        {
          ...model.samples[0],
          startNs: durationNs.map((_, sample) => sample * 5.1e6 + random()),
          durationNs,
          round: durationNs.map((_, sample) => Math.floor(sample / 10)),
        },
      ],
      stats: [{ ...model.stats[0], samples }],
    };
  });
  return document;
}
