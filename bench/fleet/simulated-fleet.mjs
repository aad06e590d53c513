// Fleets of nodes with the noise that was recorded on a GPU, as tables of figures: no documents are made.
import { readFileSync } from "node:fs";
import { keyOf } from "../../dist/fleet/node-figures.js";
import { median } from "../../dist/stats/order-statistics.js";
import { processesInARow } from "../regress/noise-model.mjs";

const MiB = 1024 ** 2;
const occasions = JSON.parse(
  readFileSync(new URL("../../results/nvidia-h200/occasions.json", import.meta.url), "utf8"),
);

/** What the preset fleet measures with one worker, as far as it was recorded; a pinned cell stands for those together too. */
const cells = processesInARow.cells.filter(({ cell }) => {
  return cell.workers === 1 && cell.sizeBytes === 64 * MiB && cell.memory !== "staged";
});
const kinds = cells.flatMap(({ cell }, index) => {
  const { memory, direction } = cell;
  const id = `${direction}/${memory}/${cell.sizeBytes}/w1/throughput/wall/cold`;
  const plain = { index, memory, direction, key: keyOf({ cell: id, moved: direction, unit: "GB/s" }) };
  if (memory !== "pinned") return [plain];
  const together = keyOf({ cell: `${id}/together-0-1-2-3-4-5-6-7`, moved: direction, unit: "GB/s" });
  return [plain, { ...plain, key: together }];
});

/** By how much machines differ by themselves: as the centres of the three that were recorded, of copies as large as there are. */
const machineOffsets = kinds.map(({ memory, direction }) => {
  const recorded = occasions.cells
    .filter((cell) => cell.memory === memory && cell.direction === direction && cell.workers === 1)
    .sort((one, other) => other.sizeBytes - one.sizeBytes)[0];
  const centres = recorded.mediansGBps.map((runs) => Math.log(median(runs)));
  return centres.map((centre) => centre - median(centres));
});

/** How many figures a GPU has. */
export const simulatedFleetKinds = kinds.length;

const recordedModel = { name: "NVIDIA H200", log: 0, link: { generation: 5, width: 16 } };
/** One of the generation before, on the link that it has. */
export const olderModel = {
  name: "NVIDIA A100-SXM4-80GB",
  log: Math.log(0.5),
  link: { generation: 4, width: 16 },
};

/** The figures that the fixed threshold is held against: the recorded centres. */
export const references = new Map(kinds.map(({ index, key }) => [key, Math.exp(cells[index].centre)]));

/**
 * A fleet of `nodes` × `gpus`. Each GPU's figures are those of a recorded process of its own, drawn anew, with the outliers
 * that the recording has. `betweenMachines`: nodes also differ as the recorded machines did. `speed(node, gpu, kind)`
 * multiplies a figure; `model(node)` has, where it is another one than was recorded, the GPU's name, its link and the logarithm of its speed relative to the recorded one.
 */
export function simulateFleet(
  {
    nodes,
    gpus = 8,
    betweenMachines = false,
    speed = () => 1,
    model = () => undefined,
    memories = ["pageable", "pinned"],
  },
  random,
) {
  const { processes } = processesInARow;
  return Array.from({ length: nodes }, (_, node) => {
    const { name, log, link } = model(node) ?? recordedModel;
    const machine = Math.floor(random() * 3);
    const devices = Array.from({ length: gpus }, (_, gpu) => {
      const at = Math.floor(random() * processes);
      const figures = new Map();
      for (const [k, kind] of kinds.entries()) {
        if (!memories.includes(kind.memory)) continue;
        const { centre, offsets, own } = cells[kind.index];
        const noise = offsets[at] + own[Math.floor(random() * processes)];
        const offset = betweenMachines ? machineOffsets[k][machine] : 0;
        figures.set(kind.key, Math.exp(centre + log + noise + offset) * speed(node, gpu, kind));
      }
      return {
        ordinal: gpu,
        name,
        uuid: `GPU-${node}-${gpu}`,
        pciBusId: `0000:${gpu}0:00.0`,
        link,
        linkCapability: link,
        figures,
      };
    });
    return {
      host: `n${String(node).padStart(4, "0")}`,
      ...{ state: "measured", reason: null, file: null, runId: null, startedAt: null, wallNs: null },
      ...{ labels: {}, notice: null, notes: [] },
      facts: {
        ...{ backend: "cuda", gpu: name, gpuCount: String(gpus), driver: "580.159.04", cpu: "Xeon" },
        linkCapability: `gen${link.generation} x${link.width}`,
      },
      devices,
    };
  });
}
