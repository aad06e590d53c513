import { PinbenchError } from "../errors.js";
import type { NumaChoice } from "../settings/choices.js";
import { allowedCpus, usableCpuCount } from "./cpus.js";
import { cpusOfNode, numaNodeOfPciDevice, numaNodes } from "./topology.js";

/** Where workers run and their memory comes from. */
export interface Placement {
  /** Null where the system decides: one node, or a device whose node is not known. */
  numaNode: number | null;
  cpus: number[];
  /** As many of them as the cgroup's quota lets run at once. */
  threads: number;
}

/**
 * `local` is the device's own node, where it is known and has CPUs that this process may use; else no restriction.
 * Throws a usage error for a node that is not there or whose CPUs this process may not use.
 */
export function choosePlacement(pciBusId: string, choice: NumaChoice, root = "/"): Placement {
  const allowed = allowedCpus(root);
  const threads = usableCpuCount(root);
  const nodes = numaNodes(root);
  const ofDevice = choice === "local" && nodes.length > 1 ? numaNodeOfPciDevice(pciBusId, root) : null;
  const numaNode = choice === "local" ? ofDevice : choice;
  const own = new Set(numaNode === null ? [] : cpusOfNode(numaNode, root));
  const cpus = allowed.filter((cpu) => own.has(cpu));
  if (cpus.length > 0) return { numaNode, cpus, threads: Math.min(threads, cpus.length) };
  if (choice === "local") return { numaNode: null, cpus: allowed, threads };
  throw new PinbenchError(
    "usage",
    nodes.includes(choice)
      ? `NUMA node ${choice} has no CPU that this process may use.`
      : `This machine has no NUMA node ${choice}.`,
    { hint: `The nodes are ${nodes.join(", ")}; --numa local takes the GPU's own.` },
  );
}
