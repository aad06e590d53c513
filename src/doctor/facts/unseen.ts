import type { MachineFacts } from "./machine-facts.js";
import type { PciPath } from "./pci-path.js";

/** What could not be read, and why, a line each; equal ones of several devices are one. */
export function unseenFacts(machine: MachineFacts, paths: readonly PciPath[]): string[] {
  const lines: string[] = [];
  const notSeen = (isUnseen: boolean, line: string) => {
    if (isUnseen) lines.push(line);
  };
  const known = paths.filter(({ ports }) => ports.length > 0);
  const { host, cpu, memory } = machine;
  notSeen(known.length < paths.length, "PCIe path: sysfs does not have the device");
  notSeen(
    known.some(({ ports }) => ports.length === 1),
    host.virtualization === null
      ? "bridges between the device and the CPU: sysfs shows none"
      : "bridges between the device and the CPU: the virtual machine hides them",
  );
  notSeen(
    known.some(({ ports }) => ports.some(({ hidesSettings }) => hidesSettings)),
    "payload and read request sizes, relaxed ordering, ACS: the kernel shows them to root alone, outside of containers",
  );
  notSeen(
    known.some(({ ports }) => ports.every(({ errors }) => errors === null)),
    "PCIe errors: the kernel does not count them for these ports (AER)",
  );
  notSeen(
    machine.nodes.length > 1 && known.some(({ numaNode }) => numaNode === null),
    "NUMA node of the device: the firmware does not tell",
  );
  notSeen(host.governor === null, "CPU frequencies: the kernel does not set them here");
  notSeen(cpu.idleStates.length === 0, "idle states of the CPUs: the kernel does not set them here");
  notSeen(
    machine.activity !== null && machine.activity.load.memoryPressureShare === null,
    "waiting for memory: the kernel does not count it (PSI)",
  );
  notSeen(memory.swapUsedBytes === null, "swap: /proc/meminfo does not tell");
  notSeen(machine.xidErrors === null, "Xid errors: this user may not read the kernel's log");
  return lines;
}
