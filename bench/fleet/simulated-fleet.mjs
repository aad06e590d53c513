// Fleets of nodes with noise recorded on a GPU, as tables of figures without documents.
import { readFileSync } from "node:fs";
import { keyOf } from "../../dist/fleet/node-figures.js";
import { median } from "../../dist/stats/order-statistics.js";
import { processesInARow } from "../regress/noise-model.mjs";

const MiB = 1024 ** 2;
const occasions = JSON.parse(
  readFileSync(new URL("../../results/nvidia-h200/occasions.json", import.meta.url), "utf8"),
);

/** The recorded cells of preset fleet with one worker; a pinned cell also stands for copies together. */
const cells = processesInARow.cells.filter(({ cell }) => {
  return cell.workers === 1 && cell.sizeBytes === 64 * MiB && cell.memory !== "staged";
});
const kinds = cells.flatMap(({ cell }, index) => {
  const { memory, direction } = cell;
  const id = `${direction}/${memory}/${cell.sizeBytes}/w1/throughput/cold`;
  const plain = { index, memory, direction, key: keyOf({ cell: id, moved: direction, unit: "GB/s" }) };
  if (memory !== "pinned") return [plain];
  const together = keyOf({ cell: `${id}/together-0-1-2-3-4-5-6-7`, moved: direction, unit: "GB/s" });
  return [plain, { ...plain, key: together }];
});

/** Differences between machines: those of the centres of the three recorded machines, for the largest copies. */
const machineOffsets = kinds.map(({ memory, direction }) => {
  const recorded = occasions.cells
    .filter((cell) => cell.memory === memory && cell.direction === direction && cell.workers === 1)
    .sort((one, other) => other.sizeBytes - one.sizeBytes)[0];
  const centres = recorded.mediansGBps.map((runs) => Math.log(median(runs)));
  return centres.map((centre) => centre - median(centres));
});

/** Number of figures of a GPU. */
export const simulatedFleetKinds = kinds.length;

const recordedModel = { name: "NVIDIA H200", log: 0, link: { generation: 5, width: 16 } };
/** A GPU of the previous generation, with its own link. */
export const olderModel = {
  name: "NVIDIA A100-SXM4-80GB",
  log: Math.log(0.5),
  link: { generation: 4, width: 16 },
};

/** The reference of the fixed threshold: the recorded centres. */
export const references = new Map(kinds.map(({ index, key }) => [key, Math.exp(cells[index].centre)]));

/**
 * A fleet of `nodes` × `gpus`. Each GPU has the figures of a recorded process, drawn at random, with the recorded
 * outliers. `betweenMachines`: nodes also differ as the recorded machines did, each as its `machine`. `speed(node, gpu, kind)`
 * multiplies a figure. `model(node)` returns, for a GPU that was not recorded, its name, its link and the logarithm of
 * its speed relative to the recorded one.
 */
export function simulateFleet(
  {
    nodes,
    gpus = 8,
    betweenMachines = false,
    speed = () => 1,
    model = () => undefined,
    machineOf = () => Math.floor(random() * 3),
    memories = ["pageable", "pinned"],
  },
  random,
) {
  const { processes } = processesInARow;
  return Array.from({ length: nodes }, (_, node) => {
    const { name, log, link } = model(node) ?? recordedModel;
    const machine = machineOf(node);
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
      ...{ host: `n${String(node).padStart(4, "0")}`, machine },
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
