import { PinbenchError } from "../errors.js";
import type { NumaChoice } from "../settings/kinds.js";
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
  const unrestricted = { numaNode: null, cpus: allowed, threads };
  if (choice === "local") {
    const node = numaNodes(root).length > 1 ? numaNodeOfPciDevice(pciBusId, root) : null;
    const cpus = node === null ? [] : cpusWithin(node, allowed, root);
    return cpus.length === 0
      ? unrestricted
      : { numaNode: node, cpus, threads: Math.min(threads, cpus.length) };
  }
  const cpus = cpusWithin(choice, allowed, root);
  if (cpus.length === 0) {
    const exists = numaNodes(root).includes(choice);
    throw new PinbenchError(
      "usage",
      exists
        ? `NUMA node ${choice} has no CPU that this process may use.`
        : `This machine has no NUMA node ${choice}.`,
      { hint: `The nodes are ${numaNodes(root).join(", ")}; --numa local takes the GPU's own.` },
    );
  }
  return { numaNode: choice, cpus, threads: Math.min(threads, cpus.length) };
}

function cpusWithin(node: number, allowed: readonly number[], root: string): number[] {
  const own = new Set(cpusOfNode(node, root) ?? []);
  return allowed.filter((cpu) => own.has(cpu));
}
