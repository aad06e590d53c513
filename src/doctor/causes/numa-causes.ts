import type { DeviceExamination, Examination } from "../examination.js";
import type { MachineFacts } from "../facts/machine-facts.js";
import { findFasterNode, isSlow, type LinkDirection, ratesText } from "./cost.js";
import { claimOf, type Suspect } from "./share-loss.js";

/**
 * The memory and CPUs in use are not nearest to the device: another node was faster, or the process may not use the
 * CPUs of the device's node.
 */
export function numaFar({ machine, devices }: Examination): Suspect[] {
  return devices.flatMap((device) => fasterNode(machine, device) ?? nodeNotAllowed(machine, device) ?? []);
}

function fasterNode(machine: MachineFacts, device: DeviceExamination): Suspect | null {
  const { measured, path, facts } = device;
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
    cause: "numa-far",
    device: facts.ordinal,
    weight: "costs",
    summary:
      path.numaNode === null
        ? `NUMA node ${node} is nearer to the device than the node that the system chose.`
        : `${what} of NUMA node ${node} ${areNearer} of node ${path.numaNode}, its own node according to the firmware.`,
    evidence: [
      `where the system places memory: ${ratesText(measured.pinned)}`,
      ...measured.nodes.map(({ node, rates }) => `on node ${node}: ${ratesText(rates)}`),
      ...allowedText(machine, node),
    ],
    cost: null,
    claim: { leaves: { h2d: leaves("h2d"), d2h: leaves("d2h") }, bound: "measured" },
    fix: hasCpus
      ? `Start programs that use the device with numactl --cpunodebind=${node} --membind=${node} (pinbench: --numa ${node}).`
      : `Start programs that use the device with numactl --membind=${node}: the node has no CPUs.`,
    sureness: "certain",
  };
}

function allowedText(machine: MachineFacts, node: number): string[] {
  const cpus = machine.nodes.find((facts) => facts.node === node)?.cpus ?? [];
  const allowed = cpus.filter((cpu) => machine.host.cpusAllowed.includes(cpu)).length;
  return cpus.length > allowed
    ? [`this process may use ${allowed} of node ${node}'s ${cpus.length} CPUs`]
    : [];
}

function nodeNotAllowed(machine: MachineFacts, device: DeviceExamination): Suspect | null {
  const node = device.path.numaNode;
  const own = machine.nodes.find((facts) => facts.node === node);
  if (own === undefined || own.cpus.length === 0 || machine.nodes.length < 2) return null;
  if (own.cpus.some((cpu) => machine.host.cpusAllowed.includes(cpu))) return null;
  const slow = isSlow(device);
  return {
    cause: "numa-far",
    device: device.facts.ordinal,
    weight: slow ? "costs" : "risk",
    summary: `The device is attached to NUMA node ${node}, and this process may use none of its CPUs.`,
    evidence: [
      `node ${node} has ${own.cpus.length} CPUs; this process's affinity mask or cpuset allows none of them`,
      ...(slow ? [`pinned copies: ${ratesText(device.measured.pinned)}, below the expected rate`] : []),
    ],
    cost: null,
    ...(slow && { claim: claimOf(0, "open") }),
    fix: `Give the job CPUs of node ${node} (Slurm: --gpu-bind=closest; else taskset or the container's cpuset).`,
    sureness: slow ? "likely" : "possible",
  };
}

/** A processor is divided into several nodes, each with a part of the memory channels. */
export function subNuma({ machine }: Examination): Suspect[] {
  const packages = machine.nodes.flatMap(({ physicalPackage }) => physicalPackage ?? []);
  const perPackage = Math.max(0, ...packages.map((one) => packages.filter((other) => other === one).length));
  if (perPackage < 2 || machine.host.virtualization !== null) return [];
  return [
    {
      cause: "sub-numa",
      device: null,
      weight: "explains",
      summary: `Each processor is divided into ${perPackage} NUMA nodes (sub-NUMA clustering, NPS): pageable copies use only a part of its memory channels.`,
      evidence: machine.nodes.map(
        ({ node, cpus, physicalPackage }) =>
          `node ${node}: ${cpus.length} CPUs${physicalPackage === null ? "" : `, processor ${physicalPackage}`}`,
      ),
      cost: null,
      fix: null,
      sureness: "certain",
    },
  ];
}

/**
 * The kernel unmaps pages from time to time to see who uses them. It is on in every distribution, so it is reported
 * only if copies are slow.
 */
export function numaBalancing({ machine, devices }: Examination): Suspect[] {
  if (machine.numaBalancing !== true || machine.nodes.length < 2 || !devices.some(isSlow)) return [];
  return [
    {
      cause: "numa-balancing",
      device: null,
      weight: "risk",
      summary: "The kernel moves pages between NUMA nodes on its own while copies use them.",
      evidence: [`kernel.numa_balancing is on, with ${machine.nodes.length} nodes`],
      cost: null,
      fix: "Try sysctl kernel.numa_balancing=0, and measure again.",
      sureness: "possible",
    },
  ];
}
