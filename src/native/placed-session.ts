import type { NativeDriver, NativeError, NativeSession } from "./contract.js";

/** Where a session's threads run, and from which NUMA node its memory comes; null leaves that to the system. */
interface SessionPlacement {
  cpus: number[];
  threads: number;
  numaNode: number | null;
}

/**
 * Opens a session on a device's CPUs and memory node. A container may forbid to choose a node: then the first touch by
 * that node's CPUs does nearly as well, after `onRefused` has heard of the refusal and not thrown.
 */
export async function openPlacedSession(
  driver: NativeDriver,
  { device, placement, seed }: { device: number; placement: SessionPlacement; seed: number },
  onRefused: (refusal: NativeError) => void = () => undefined,
): Promise<NativeSession> {
  const { cpus, threads, numaNode } = placement;
  const open = (node: number | null) => driver.openSession({ device, cpus, threads, numaNode: node, seed });
  return open(numaNode).catch((error: NativeError) => {
    if (error.code !== "PLACEMENT_REFUSED" || numaNode === null) throw error;
    onRefused(error);
    return open(null);
  });
}
