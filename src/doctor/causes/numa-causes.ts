import { type DeviceExamination, type Examination, eachWay, type LinkDirection } from "../examination.js";
import type { MachineFacts } from "../facts/machine-facts.js";
import { findFasterNode, isSlow, ratesText } from "./cost.js";
import { claimOf, type Seen } from "./share-loss.js";

/** Memory and CPUs are not the nearest ones: another node was faster, or the device's node is not allowed. */
export function numaFar(device: DeviceExamination, { machine }: Examination): Seen | null {
  return fasterNode(machine, device) ?? nodeNotAllowed(machine, device);
}

function fasterNode(machine: MachineFacts, device: DeviceExamination): Seen | null {
  const { measured, path } = device;
  const best = findFasterNode(device);
  if (best === null) return null;
  const { node, gains } = best;
  const hasCpus = (machine.nodes.find((facts) => facts.node === node)?.cpus ?? [0]).length > 0;
  const what = hasCpus ? "Memory and CPUs" : "Memory";
  const areNearer = hasCpus ? "are nearer to the device than those" : "is nearer to the device than that";
  const leaves = (direction: LinkDirection) => {
    const found = measured.pinned[direction] ?? 0;
    return found === 0 ? 1 : found / (found + gains[direction]);
  };
  return {
    weight: "costs",
    summary:
      path.numaNode === null
        ? `NUMA node ${node} is nearer to the device than the node that the system chose.`
        : `${what} of NUMA node ${node} ${areNearer} of node ${path.numaNode}, its own node according to the firmware.`,
    evidence: [
      `where the system places memory: ${ratesText(measured.pinned)}`,
      ...measured.nodes.map(({ node, rates }) => `on node ${node}: ${ratesText(rates)}`),
    ],
    claim: { leaves: eachWay(leaves), bound: "measured" },
    fix: hasCpus
      ? `Start programs that use the device with numactl --cpunodebind=${node} --membind=${node} (pinbench: --numa ${node}).`
      : `Start programs that use the device with numactl --membind=${node}: the node has no CPUs.`,
  };
}

function nodeNotAllowed(machine: MachineFacts, device: DeviceExamination): Seen | null {
  const node = device.path.numaNode;
  const own = machine.nodes.find((facts) => facts.node === node);
  if (own === undefined || own.cpus.length === 0 || machine.nodes.length < 2) return null;
  if (own.cpus.some((cpu) => machine.host.cpusAllowed.includes(cpu))) return null;
  const slow = isSlow(device);
  return {
    summary: `The device is attached to NUMA node ${node}, and this process may use none of its CPUs.`,
    evidence: [
      `node ${node} has ${own.cpus.length} CPUs; this process's affinity mask or cpuset allows none of them`,
      ...(slow ? [`pinned copies: ${ratesText(device.measured.pinned)}, below the expected rate`] : []),
    ],
    ...(slow && { claim: claimOf(0, "open") }),
    fix: `Give the job CPUs of node ${node} (Slurm: --gpu-bind=closest; else taskset or the container's cpuset).`,
    sureness: slow ? "likely" : "possible",
  };
}
