import { z } from "zod";
import { listed } from "../draw/words.js";
import { parseCpuList } from "../host/cpus.js";
import { cpusOfNode, numaNodeOfPciDevice, numaNodes } from "../host/topology.js";
import { count } from "../settings/schema-parts.js";
import { groupBy } from "../stats/group-by.js";

/** A training process' CPUs, memory policy and GPU; null if the system hides them, or without a GPU. */
export const processPlacementSchema = z.object({
  cpus: z.array(count),
  /** As in numa_maps: "default", "bind:0", "prefer:1". */
  memoryPolicy: z.string().nullable(),
  pciBusId: z.string().nullable(),
});

export type ProcessPlacement = z.infer<typeof processPlacementSchema>;

export interface PlacedRank {
  rank: number;
  place: ProcessPlacement;
}

/**
 * Processes that are not bound to the NUMA node of their GPU (from sysfs): a sentence for each kind, without a full
 * stop. Workers inherit the binding. Empty with one node or without a GPU.
 */
export function bindingFaults(ranks: readonly PlacedRank[], root = "/"): string[] {
  const nodes = numaNodes(root).map((node) => ({ node, cpus: new Set(cpusOfNode(node, root)) }));
  if (nodes.length < 2) return [];
  const faults = ranks.flatMap(({ rank, place }) => {
    const fault =
      place.pciBusId === null ? null : faultOf(place, numaNodeOfPciDevice(place.pciBusId, root), nodes);
    return fault === null ? [] : [{ rank, fault }];
  });
  return [...groupBy(faults, ({ fault }) => fault)].map(
    ([fault, alike]) => `rank ${listed(alike.map(({ rank }) => String(rank)))}: ${fault}`,
  );
}

interface NodeCpus {
  node: number;
  cpus: ReadonlySet<number>;
}

/** The sentence's part, "CPUs of NUMA node 1, GPU on node 0: bind it ..."; null if the process is bound to the node. */
function faultOf(
  { cpus, memoryPolicy }: ProcessPlacement,
  near: number | null,
  nodes: readonly NodeCpus[],
): string | null {
  if (near === null)
    return "sysfs names no NUMA node for its GPU; `pinbench run --numa all` finds the nearest";
  const hasCpus = nodes.some(({ node, cpus: own }) => node === near && own.size > 0);
  const cpuNodes = nodes.filter((one) => cpus.some((cpu) => one.cpus.has(cpu))).map(({ node }) => node);
  const memoryNodes = nodesOfPolicy(memoryPolicy) ?? [];
  const isElsewhere = (used: readonly number[]) => used.some((node) => node !== near);
  const uses = [
    ...(hasCpus && isElsewhere(cpuNodes) ? [`CPUs of NUMA node ${listed(cpuNodes.map(String))}`] : []),
    ...(isElsewhere(memoryNodes) ? [`memory of NUMA node ${listed(memoryNodes.map(String))}`] : []),
  ];
  if (uses.length === 0) return null;
  const bound = `numactl ${hasCpus ? `--cpunodebind=${near} ` : ""}--membind=${near}`;
  return `${uses.join(" and ")}, GPU on node ${near} by sysfs: bind it with ${bound}; \`pinbench run --numa all\` shows the gain`;
}

/** The NUMA nodes of new memory; null if it comes from the node of the CPU that touches it. */
function nodesOfPolicy(policy: string | null): number[] | null {
  const [, list = ""] = /^(?:bind|prefer|interleave)[^:]*:(.*)$/.exec(policy ?? "") ?? [];
  const nodes = parseCpuList(list) ?? [];
  return nodes.length === 0 ? null : nodes;
}
