// Fleets as tables of figures: noise between processes, differences between machines, and faults.
import { keyOf as keyOfNow } from "../../dist/fleet/node-figures.js";

const MiB = 1024 ** 2;
const cell = (direction, memory) => `${direction}/${memory}/${64 * MiB}/w1/throughput/cold`;

/** The cells of the fleet preset that are measured in GB/s. */
export const kinds = ["pinned", "pageable"].flatMap((memory) =>
  ["h2d", "d2h"].map((moved) => ({ memory, kind: { cell: cell(moved, memory), moved, unit: "GB/s" } })),
);

/** Rates of a recorded H200 (results/nvidia-h200), in GB/s. */
const rates = { pinned: 55.2, pageable: 10 };

/** Standard deviation between processes on one GPU: the recorded 0.1 to 0.2 % and 2 to 5 % (results/nvidia-h200/sessions.json). */
const ofProcesses = { pinned: 0.002, pageable: 0.03 };

/** Factor on the differences between machines, which are larger in copies by the CPU. */
const machineFactor = { pinned: 1, pageable: 3 };

/** A number of Student's t distribution with 3 degrees of freedom. */
function heavyTail(normal) {
  return normal() / Math.sqrt((normal() ** 2 + normal() ** 2 + normal() ** 2) / 3);
}

/**
 * `nodes(indices)` returns figures of fresh processes, by default for all nodes. `apart`: standard deviation between
 * machines. `isHeavy`: noise of processes has Student's t tails, scaled by 0.5 % (pinned) and 3 % (pageable).
 * `speed(node, gpu, memory)`: factor of a fault.
 */
export function simulatedFleet(
  { count, gpus, apart, isHeavy, isKnown, speed, driver = () => "580" },
  normal,
) {
  const machines = Array.from({ length: count }, () => ({
    pinned: apart * normal(),
    pageable: apart * normal(),
  }));
  const name = isKnown ? "NVIDIA H200" : "NVIDIA H20";
  const figure = (node, gpu, memory) => {
    const sigma = ofProcesses[memory];
    const noise = isHeavy ? (memory === "pinned" ? 2.5 : 1) * sigma * heavyTail(normal) : sigma * normal();
    return (
      rates[memory] *
      Math.exp(noise + machineFactor[memory] * machines[node][memory]) *
      speed(node, gpu, memory)
    );
  };
  const measured = (node) => ({
    ...{
      host: `n${String(node).padStart(4, "0")}`,
      isNamed: true,
      state: "measured",
      reason: null,
      file: null,
    },
    ...{ runId: null, startedAt: null, wallNs: null, labels: {}, notice: null, notes: [] },
    facts: {
      ...{ backend: "cuda", gpu: name, gpuCount: String(gpus), driver: driver(node), cpu: "Xeon" },
      linkCapability: "gen5 x16",
    },
    devices: Array.from({ length: gpus }, (_, gpu) => ({
      ...{ ordinal: gpu, name, uuid: `GPU-${node}-${gpu}`, pciBusId: `0000:${gpu}0:00.0` },
      ...{ link: { generation: 5, width: 16 }, linkCapability: { generation: 5, width: 16 } },
      figures: new Map(kinds.map(({ memory, kind }) => [keyOfNow(kind), figure(node, gpu, memory)])),
      failures: new Map(),
    })),
  });
  return { nodes: (indices = [...machines.keys()]) => indices.map(measured) };
}
