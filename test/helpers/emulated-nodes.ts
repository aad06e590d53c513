import { fixtureRoot } from "./fixture-root.js";

/** An emulated machine of several NUMA nodes: how it is, and what sysfs says. */
interface EmulatedNodes {
  /** The node that sysfs names for each device; -1 for none. */
  sysfs: readonly number[];
  /** What each device's link carries with the memory of each node. */
  GBps: readonly (readonly number[])[];
  /** Two CPUs on each node, unless these say otherwise. */
  nodes?: readonly { cpus: readonly number[]; full?: boolean }[];
  /** Whether nodes cannot be preferred, as in a container. */
  refuse?: boolean;
}

/** The variables of such a machine. */
export function emulatedNodes({ sysfs, ...machine }: EmulatedNodes): Record<string, string> {
  const count = machine.GBps[0]!.length;
  const nodes: NonNullable<EmulatedNodes["nodes"]> =
    machine.nodes ?? Array.from({ length: count }, (_, node) => ({ cpus: [2 * node, 2 * node + 1] }));
  const folder = "sys/devices/system/node";
  const cpus = nodes.flatMap((node) => node.cpus);
  const root = fixtureRoot({
    "proc/self/status": `Name:\tnode\nCpus_allowed_list:\t${cpus.join(",")}\nMems_allowed_list:\t0-${count - 1}`,
    [`${folder}/online`]: `0-${count - 1}`,
    [`${folder}/has_memory`]: `0-${count - 1}`,
    ...Object.fromEntries(
      nodes.flatMap((node, i) => [
        [`${folder}/node${i}/cpulist`, node.cpus.join(",")],
        [`${folder}/node${i}/distance`, nodes.map((_, j) => (i === j ? 10 : 21)).join(" ")],
      ]),
    ),
    ...Object.fromEntries(
      sysfs.map((node, ordinal) => [
        `sys/bus/pci/devices/eeee:${ordinal.toString(16).padStart(2, "0")}:00.0/numa_node`,
        String(node),
      ]),
    ),
  });
  return {
    PINBENCH_EMULATED_ROOT: root,
    PINBENCH_EMULATED_DEVICES: String(sysfs.length),
    PINBENCH_EMULATED_NUMA: [
      ...nodes.map((node) => `node:cpus=${node.cpus}${node.full === true ? ":full" : ""}`),
      ...machine.GBps.map((rates) => `device:GBps=${rates}`),
      ...(machine.refuse === true ? ["refuse"] : []),
    ].join("; "),
  };
}
