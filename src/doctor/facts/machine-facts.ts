import { countIn, exists, listNames, readCount, readText } from "../../host/files.js";
import { hostRecord, loadBetween, readLoad } from "../../host/machine-load.js";
import { cpuInfoField } from "../../host/system.js";
import { cpusOfNode, numaNodes } from "../../host/topology.js";
import type { HostRecord } from "../../results/schema.js";
import type { PciPath } from "./pci-path.js";
import { readXidErrors } from "./xid-log.js";

/** Facts from /proc and /sys that may explain lost bandwidth; null if the kernel or a container hides them. */
export type MachineFacts = ReturnType<typeof readMachineFacts>;

/**
 * Reads the facts; tests replace `root`. Call it after the last copy, with the result of readMachineCounters() from
 * before the first. Never throws, and needs no root user.
 */
export function readMachineFacts(root = "/", before: MachineCounters | null = null) {
  const host: HostRecord = hostRecord(root);
  return {
    host,
    /** Idle states of one CPU that the process may use. */
    idleStates: readIdleStates(host.cpusAllowed[0] ?? 0, root),
    /** Online nodes, ascending; a node with memory only has no CPUs. */
    nodes: numaNodes(root).map((node) => ({ node, cpus: cpusOfNode(node, root) ?? [] })),
    sharedMemoryBytes: readSharedMemoryBytes(root),
    platform: readPlatformFacts(root),
    /** XID errors of all GPUs since boot; null if the log is unreadable. */
    xidErrors: readXidErrors(root),
    /** Activity during the examination; null without `before`. */
    activity: before === null ? null : activityBetween(before, readMachineCounters(root)),
  };
}

function readPlatformFacts(root: string) {
  return {
    confidentialGuest: readConfidentialGuest(root),
    /** Kernel arguments about the IOMMU: "iommu=pt", "intel_iommu=on", "iommu.strict=0". */
    iommuArguments: (readText(root, "proc/cmdline") ?? "").match(/(?<!\S)\w*iommu(?:\.\w+)?=\S*/g) ?? [],
  };
}

/**
 * How a confidential virtual machine is protected from its host; null for other machines. Checks for the guest's
 * attestation devices (Documentation/virt/coco of the kernel), because hosts of such guests also have AMD's CPU flags.
 */
function readConfidentialGuest(root: string): string | null {
  if (exists(root, "dev/sev-guest")) return "AMD SEV-SNP";
  const flags = cpuInfoField(root, "flags") ?? "";
  return exists(root, "dev/tdx_guest") || flags.split(/\s+/).includes("tdx_guest") ? "Intel TDX" : null;
}

/** Facts that could not be read and why, a line each, without repetitions. */
export function unseenFacts(machine: MachineFacts, paths: readonly PciPath[]): string[] {
  const known = paths.filter(({ ports }) => ports.length > 0);
  const { host, idleStates } = machine;
  return linesIf([
    [known.length < paths.length, "PCIe path: sysfs does not have the device"],
    [
      known.some(({ ports }) => ports.length === 1),
      host.virtualization === null
        ? "bridges between the device and the CPU: sysfs shows none"
        : "bridges between the device and the CPU: the virtual machine hides them",
    ],
    [
      known.some(({ ports }) => ports.some(({ hidesSettings }) => hidesSettings)),
      "payload sizes: only root outside of containers can read them",
    ],
    [
      known.some(({ ports }) => ports.every(({ errors }) => errors === null)),
      "PCIe errors: the kernel does not count them for these ports (AER)",
    ],
    [
      machine.nodes.length > 1 && known.some(({ numaNode }) => numaNode === null),
      "NUMA node of the device: the firmware does not report it",
    ],
    [host.governor === null, "CPU frequencies: the kernel does not set them here"],
    [idleStates.length === 0, "idle states of the CPUs: the kernel does not set them here"],
    [
      machine.activity !== null && machine.activity.load.memoryPressureShare === null,
      "waiting for memory: the kernel does not count it (PSI)",
    ],
    [machine.xidErrors === null, "Xid errors: this user may not read the kernel's log"],
  ]);
}

/** The lines whose condition holds. */
export function linesIf(lines: readonly (readonly [applies: boolean, line: string])[]): string[] {
  return lines.flatMap(([applies, line]) => (applies ? [line] : []));
}

/**
 * Idle states of a CPU (the kernel's Documentation/admin-guide/pm/cpuidle.rst), lightest first, with the longest
 * wake-up time and the time spent since boot; empty if the kernel hides them.
 */
function readIdleStates(cpu: number, root: string) {
  const folder = `sys/devices/system/cpu/cpu${cpu}/cpuidle`;
  return listNames(root, folder)
    .filter((name) => /^state\d{1,2}$/.test(name))
    .flatMap((state) => {
      const name = readText(root, `${folder}/${state}/name`);
      const exitLatencyUs = readCount(root, `${folder}/${state}/latency`);
      if (name === null || exitLatencyUs === null) return [];
      const disabled = readText(root, `${folder}/${state}/disable`) === "1";
      return [{ name, exitLatencyUs, disabled, timeUs: readCount(root, `${folder}/${state}/time`) }];
    })
    .sort((a, b) => a.exitLatencyUs - b.exitLatencyUs);
}

/**
 * Size of the file system at /dev/shm, through which loader workers pass batches, from the last mount there
 * (proc_pid_mountinfo(5)). Docker's has 64 MiB; null without a size: then the kernel uses half of the memory.
 */
function readSharedMemoryBytes(root: string): number | null {
  const mount = (readText(root, "proc/self/mountinfo") ?? "")
    .split("\n")
    .findLast((line) => line.split(" ")[4] === "/dev/shm");
  const kib = countIn(/ - tmpfs .*\bsize=(\d+)k/.exec(mount ?? "")?.[1]);
  return kib === null ? null : kib * 1024;
}

/** Kernel counters at one moment; two show what happened in between. */
export type MachineCounters = ReturnType<typeof readMachineCounters>;

/** Reads the counters, also of swapped pages. Call it before the first copy. Never throws. */
export function readMachineCounters(root = "/") {
  const counters = readText(root, "proc/vmstat");
  const pages = (key: string) => countIn(new RegExp(`^${key} (\\d+)$`, "m").exec(counters ?? "")?.[1]);
  const [into, out] = [pages("pswpin"), pages("pswpout")];
  return { load: readLoad(root), swappedPages: into === null || out === null ? null : into + out };
}

/** Activity of the machine between two readings; shares of time are from 0 to 1. */
export function activityBetween(before: MachineCounters, after: MachineCounters) {
  const [from, to] = [before.swappedPages, after.swappedPages];
  return {
    load: loadBetween([[before.load, after.load]]),
    swappedPages: from === null || to === null ? null : Math.max(0, to - from),
  };
}
