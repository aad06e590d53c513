// Fleets of nodes with the noise that was recorded on a GPU, as tables of figures: no documents are made.
import { readFileSync } from "node:fs";
import { keyOf } from "../../dist/fleet/node-figures.js";
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

/** By how much machines differ by themselves: the recorded centres of three, of which a node gets one, cell by cell alike. */
const machineOffsets = kinds.map(({ index }) => {
  const recorded = occasions.cells.find(({ id }) => id === cells[index].cell.id);
  const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const centres = recorded?.mediansGBps.map((runs) => Math.log(middle(runs))) ?? [0];
  return centres.map((centre) => centre - middle(centres));
});

const gen5x16 = { generation: 5, width: 16 };

/**
 * A fleet of `nodes` × `gpus`. Each GPU's figures are those of a recorded process of its own, drawn anew, with the outliers
 * that the recording has. `betweenMachines`: nodes also differ as the recorded machines did. `speed(node, gpu, kind)`
 * multiplies a figure; `model(node)` names the GPU and has the logarithm of its speed relative to the recorded one.
 */
export function simulateFleet(
  { nodes, gpus = 8, betweenMachines = false, speed = () => 1, model = () => ({ name: "NVIDIA H200", log: 0 }) },
  random,
) {
  const { processes } = processesInARow;
  return Array.from({ length: nodes }, (_, node) => {
    const { name, log } = model(node);
    const machine = Math.floor(random() * 3);
    const devices = Array.from({ length: gpus }, (_, gpu) => {
      const at = Math.floor(random() * processes);
      const figures = new Map();
      for (const [k, kind] of kinds.entries()) {
        const { centre, offsets, own } = cells[kind.index];
        const noise = offsets[at] + own[Math.floor(random() * processes)];
        const offset = betweenMachines ? (machineOffsets[k][machine] ?? 0) : 0;
        figures.set(kind.key, Math.exp(centre + log + noise + offset) * speed(node, gpu, kind));
      }
      return {
        ordinal: gpu,
        name,
        uuid: `GPU-${node}-${gpu}`,
        pciBusId: `0000:${gpu}0:00.0`,
        link: gen5x16,
        linkCapability: gen5x16,
        figures,
      };
    });
    return {
      host: `n${String(node).padStart(4, "0")}`,
      ...{ state: "measured", reason: null, file: null, runId: null, startedAt: null, wallNs: null },
      ...{ labels: {}, notice: null, notes: [] },
      facts: {
        ...{ backend: "cuda", gpu: name, gpuCount: String(gpus), driver: "580.159.04", cpu: "Xeon" },
        linkCapability: "gen5 x16",
      },
      devices,
    };
  });
}
