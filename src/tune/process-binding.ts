import { z } from "zod";
import { groupBy } from "../draw/report.js";
import { listed } from "../draw/words.js";
import { parseCpuList } from "../host/cpus.js";
import { cpusOfNode, numaNodeOfPciDevice, numaNodes } from "../host/topology.js";
import { count } from "../settings/schema-parts.js";

/** Where a training process may run and takes memory from, and its GPU; null if the system hides it, or without a GPU. */
export const processPlaceSchema = z.object({
  cpus: z.array(count),
  /** As in numa_maps: "default", "bind:0", "prefer:1". */
  memoryPolicy: z.string().nullable(),
  pciBusId: z.string().nullable(),
});

export type ProcessPlace = z.infer<typeof processPlaceSchema>;

/** A training process of this node. */
export interface PlacedRank {
  rank: number;
  place: ProcessPlace;
}

/** Number of CPUs that any of these processes may use. */
export function cpusOfProcesses(ranks: readonly PlacedRank[]): number {
  return new Set(ranks.flatMap(({ place }) => place.cpus)).size;
}

/**
 * Where processes, and the workers that inherit their binding, are not bound to the NUMA node of their GPU: a sentence
 * for each kind, without a full stop. Empty with one node, and without a GPU. The GPU's node is the one that sysfs names.
 */
export function bindingFaults(ranks: readonly PlacedRank[], root = "/"): string[] {
  const nodes = numaNodes(root).map((node) => ({ node, cpus: new Set(cpusOfNode(node, root)) }));
  if (nodes.length < 2) return [];
  const faults = ranks.flatMap(({ rank, place }): Fault[] => {
    if (place.pciBusId === null) return [];
    const near = numaNodeOfPciDevice(place.pciBusId, root);
    const uses = near === null ? "" : usedElsewhere(place, near, nodes);
    return uses === null ? [] : [{ rank, near, uses }];
  });
  const alike = groupBy(faults, ({ near, uses }) => `${near} ${uses}`);
  return [...alike.values()].map((group) => {
    const { near } = group[0]!;
    const bound = hasCpus(near, nodes)
      ? `numactl --cpunodebind=${near} --membind=${near}, or torchrun --numa-binding=node`
      : `numactl --membind=${near}`;
    return sentenceOf(group, bound, ranks.length);
  });
}

/** Where a process is not bound to the GPU's node, `near`: null if sysfs names none. */
interface Fault {
  rank: number;
  near: number | null;
  uses: string;
}

interface NodeCpus {
  node: number;
  cpus: ReadonlySet<number>;
}

const hasCpus = (wanted: number | null, nodes: readonly NodeCpus[]) =>
  nodes.some(({ node, cpus }) => node === wanted && cpus.size > 0);

/** "CPUs of NUMA node 1"; null if the process is bound to this node. */
function usedElsewhere(
  { cpus, memoryPolicy }: ProcessPlace,
  near: number,
  nodes: readonly NodeCpus[],
): string | null {
  const cpuNodes = nodes.filter((one) => cpus.some((cpu) => one.cpus.has(cpu))).map(({ node }) => node);
  const memoryNodes = nodesOfPolicy(memoryPolicy);
  const uses = [
    ...(hasCpus(near, nodes) && (cpuNodes.length > 1 || !cpuNodes.includes(near))
      ? [`CPUs of ${nodeNames(cpuNodes)}`]
      : []),
    ...(memoryNodes?.some((node) => node !== near) ? [`memory of ${nodeNames(memoryNodes)}`] : []),
  ];
  return uses.length === 0 ? null : uses.join(" and ");
}

function sentenceOf(alike: readonly Fault[], bound: string, rankCount: number): string {
  const { near, uses } = alike[0]!;
  const isOne = alike.length === 1;
  const names = listed(alike.map(({ rank }) => String(rank)));
  const who = rankCount === 1 ? "the training process" : `${isOne ? "rank" : "ranks"} ${names}`;
  if (near === null) {
    return `sysfs names no NUMA node for the ${isOne ? "GPU" : "GPUs"} of ${who}: \`pinbench run --numa all\` finds the nearest`;
  }
  const [use, gpus, them] = isOne ? ["uses", "its GPU is", "it"] : ["use", "their GPUs are", "them"];
  return `${who} ${use} ${uses}, and ${gpus} on node ${near}, as sysfs says: bind ${them} with ${bound}; \`pinbench run --numa all\` shows what that gains`;
}

function nodeNames(nodes: readonly number[]): string {
  return `NUMA ${nodes.length === 1 ? "node" : "nodes"} ${listed(nodes.map(String))}`;
}

/** The nodes that new memory comes from; null for those of the CPUs that touch it. */
function nodesOfPolicy(policy: string | null): number[] | null {
  const [, list = ""] = /^(?:bind|prefer|interleave)[^:]*:(.*)$/.exec(policy ?? "") ?? [];
  const nodes = parseCpuList(list) ?? [];
  return nodes.length === 0 ? null : nodes;
}
