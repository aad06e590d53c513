import { PinbenchError } from "../errors.js";
import { allowedCpus, parseCpuList, usableCpuCount } from "./cpus.js";
import { fieldOf, readText } from "./files.js";
import { joinsGpuMemory } from "./system.js";
import { cpusOfNode, numaNodes, type Placement } from "./topology.js";

interface NumaNode {
  node: number;
  /** CPUs that this process may use; empty for a node without CPUs. */
  cpus: number[];
  /** Whether it has host memory, as opposed to a GPU's. */
  hasMemory: boolean;
  isAllowed: boolean;
  /** Distance to each node, as in sysfs: 10 for itself; empty if unknown. */
  distances: number[];
}

export function readNumaNodes(root = "/"): NumaNode[] {
  const usable = new Set(allowedCpus(root));
  const withMemory = parseCpuList(readText(root, "sys/devices/system/node/has_memory") ?? "") ?? [];
  const list = fieldOf(readText(root, "proc/self/status"), "Mems_allowed_list");
  const allowed = list === null ? null : parseCpuList(list);
  const isGpus = (cpus: readonly number[] | null) => cpus?.length === 0 && joinsGpuMemory(root);
  return numaNodes(root).map((node) => ({
    node,
    cpus: (cpusOfNode(node, root) ?? []).filter((cpu) => usable.has(cpu)),
    hasMemory: (withMemory.length === 0 || withMemory.includes(node)) && !isGpus(cpusOfNode(node, root)),
    isAllowed: allowed?.includes(node) ?? true,
    distances: (readText(root, `sys/devices/system/node/node${node}/distance`) ?? "")
      .split(/\s+/)
      .filter((text) => /^\d+$/.test(text))
      .map(Number),
  }));
}

export interface NumaPlacement {
  cpuNode: number;
  memoryNode: number;
}

/** With more nodes than this, only the nearest CPUs are paired with each memory: n nodes have n² combinations. */
const mostCrossedNodes = 4;

/**
 * The placements to compare: first each node's memory with its own CPUs or the nearest ones, then with others. Empty if
 * this process can use the memory of only one node.
 */
export function placementsOn(nodes: readonly NumaNode[]): NumaPlacement[] {
  const memoryNodes = nodes.filter(({ hasMemory, isAllowed }) => hasMemory && isAllowed);
  const cpuNodes = nodes.filter(({ cpus }) => cpus.length > 0);
  if (memoryNodes.length < 2 || cpuNodes.length === 0) return [];
  const local = memoryNodes.map(({ node }) => ({ cpuNode: nearestCpus(node, nodes), memoryNode: node }));
  if (memoryNodes.length > mostCrossedNodes) return local;
  const crossed = local.flatMap(({ cpuNode: own, memoryNode }) =>
    cpuNodes.flatMap(({ node: cpuNode }) => (cpuNode === own ? [] : [{ cpuNode, memoryNode }])),
  );
  return [...local, ...crossed];
}

/** Whether the CPUs are the nearest to the memory: only these placements matter to a device's own access. */
export function isNear(placement: NumaPlacement, all: readonly NumaPlacement[]): boolean {
  return all.find(({ memoryNode }) => memoryNode === placement.memoryNode)?.cpuNode === placement.cpuNode;
}

function nearestCpus(node: number, nodes: readonly NumaNode[]): number {
  const { distances } = nodes.find((one) => one.node === node)!;
  const ordinals = nodes.map((one) => one.node);
  const distanceTo = (other: number) =>
    other === node ? 0 : (distances[ordinals.indexOf(other)] ?? Number.POSITIVE_INFINITY);
  const [nearest] = nodes
    .filter(({ cpus }) => cpus.length > 0)
    .toSorted((a, b) => distanceTo(a.node) - distanceTo(b.node) || a.node - b.node);
  return nearest!.node;
}

/** Throws a usage error if this process may not use the placement's CPUs or memory. */
export function placementAt({ cpuNode, memoryNode }: NumaPlacement, root = "/"): Placement {
  const nodes = readNumaNodes(root);
  const cpus = nodes.find(({ node }) => node === cpuNode)?.cpus ?? [];
  const memory = nodes.find(({ node }) => node === memoryNode);
  if (cpus.length > 0 && memory?.hasMemory && memory.isAllowed) {
    return { numaNode: memoryNode, cpus, threads: Math.min(usableCpuCount(root), cpus.length) };
  }
  const lacking = cpus.length === 0 ? `CPUs of NUMA node ${cpuNode}` : `memory of NUMA node ${memoryNode}`;
  throw new PinbenchError("usage", `This process cannot use ${lacking}.`, {
    hint: `The nodes are ${nodes.map(({ node }) => node).join(", ")}; a container or a scheduler may allow only some.`,
  });
}
