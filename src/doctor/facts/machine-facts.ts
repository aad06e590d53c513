import { readCount } from "../../host/files.js";
import { hostRecord } from "../../host/host-record.js";
import type { HostRecord } from "../../results/schema.js";
import { type CpuFacts, type NumaNodeFacts, readCpuFacts, readNumaNodes } from "./cpu-facts.js";
import {
  activityBetween,
  type MachineActivity,
  type MachineCounters,
  type MemoryFacts,
  readMachineCounters,
  readMemoryFacts,
} from "./memory-facts.js";
import { type PlatformFacts, readPlatformFacts } from "./platform-facts.js";
import { readXidErrors, type XidError } from "./xid-log.js";

/** What /proc and /sys tell of a machine that may cost bandwidth; null where the kernel or a container does not tell. */
export interface MachineFacts {
  host: HostRecord;
  cpu: CpuFacts;
  nodes: readonly NumaNodeFacts[];
  /** The kernel moves pages to the node that uses them, and unmaps them from time to time to see which that is. */
  numaBalancing: boolean | null;
  memory: MemoryFacts;
  platform: PlatformFacts;
  /** Of this boot, of all GPUs; null where the log may not be read. */
  xidErrors: readonly XidError[] | null;
  /** What the machine did while it was examined; null where `before` was not given. */
  activity: MachineActivity | null;
}

/**
 * Reads all of it, below a root that tests replace; to be called after the last copy, with what readMachineCounters() gave
 * before the first. Never throws, and nothing of it needs root.
 */
export function readMachineFacts(root = "/", before: MachineCounters | null = null): MachineFacts {
  const host = hostRecord(root);
  const balancing = readCount(root, "proc/sys/kernel/numa_balancing");
  return {
    host,
    cpu: readCpuFacts(host.cpusAllowed, root),
    nodes: readNumaNodes(root),
    numaBalancing: balancing === null ? null : balancing > 0,
    memory: readMemoryFacts(root),
    platform: readPlatformFacts(root),
    xidErrors: readXidErrors(root),
    activity: before === null ? null : activityBetween(before, readMachineCounters(root)),
  };
}
