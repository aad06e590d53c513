import { exists, fieldOf, listNames, readCount, readStart, readText } from "../../host/files.js";
import { hostRecord } from "../../host/host-record.js";
import { sysfsPciName } from "../../host/topology.js";
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

/** What kind of machine this is, and what the kernel and NVIDIA's driver were told; null where it is not known. */
interface PlatformFacts {
  /** How a confidential virtual machine is kept from its host: "AMD SEV-SNP", "Intel TDX"; null for any other machine. */
  confidentialGuest: string | null;
  /** Memory that copies of a confidential machine go through (swiotlb); null where the kernel does not tell this user. */
  bounceBufferBytes: number | null;
  /** The CPU is NVIDIA Grace, which reaches its GPU by NVLink-C2C. */
  graceCpu: boolean;
  /** Of the kernel's command line, what concerns PCIe and the IOMMU: "iommu=pt", "pcie_aspm=off". */
  kernelArguments: readonly string[];
  /** The policy for power management of links in force: "default", "performance", "powersave", "powersupersave". */
  aspmPolicy: string | null;
  /** Of NVIDIA's kernel module: "580.159.04". */
  driverVersion: string | null;
  /** GPUs that the driver was told to leave out, by their names in sysfs. */
  excludedGpus: readonly string[];
}

/** Reads what kind of machine this is. */
function readPlatformFacts(root: string): PlatformFacts {
  const cpu = readStart(root, "proc/cpuinfo", 16 * 1024);
  const slots = readCount(root, "sys/kernel/debug/swiotlb/io_tlb_nslabs");
  return {
    confidentialGuest: readConfidentialGuest(cpu, root),
    bounceBufferBytes: slots === null ? null : slots * swiotlbSlotBytes,
    // Neoverse V2, of Arm (implementer 0x41): Grace. Amazon's Graviton 4 has the same cores, and no NVIDIA driver for C2C.
    graceCpu:
      fieldOf(cpu, "CPU implementer") === "0x41" &&
      fieldOf(cpu, "CPU part") === "0xd4f" &&
      !/amazon/i.test(readText(root, "sys/class/dmi/id/sys_vendor") ?? ""),
    kernelArguments: (readText(root, "proc/cmdline") ?? "")
      .split(/\s+/)
      .filter((argument) => concerning.test(argument)),
    aspmPolicy: /\[(\w+)\]/.exec(readText(root, "sys/module/pcie_aspm/parameters/policy") ?? "")?.[1] ?? null,
    driverVersion: readDriverVersion(root),
    excludedGpus: readExcludedGpus(root),
  };
}

/** Of a slot of the kernel's bounce buffers (IO_TLB_SIZE). */
const swiotlbSlotBytes = 2048;

const concerning = /^(?:iommu|intel_iommu|amd_iommu|iommu\.\w+|pci|pcie_\w+(?:\.\w+)?)=/;

/**
 * The devices through which a guest asks for its attestation (the kernel's Documentation/virt/coco); flags of AMD's CPUs
 * alone say that their hosts could have such guests.
 */
function readConfidentialGuest(cpu: string | null, root: string): string | null {
  if (exists(root, "dev/sev-guest")) return "AMD SEV-SNP";
  const isTdx =
    exists(root, "dev/tdx_guest") || fieldOf(cpu, "flags")?.split(/\s+/).includes("tdx_guest") === true;
  return isTdx ? "Intel TDX" : null;
}

/** "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (…)". */
function readDriverVersion(root: string): string | null {
  const line = (readText(root, "proc/driver/nvidia/version") ?? "").split("\n", 1)[0] ?? "";
  return /^NVRM version: .*?\b(\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)\b/.exec(line)?.[1] ?? null;
}

/** Each GPU has a folder named by its place, with lines such as "GPU Excluded: No". */
function readExcludedGpus(root: string): string[] {
  return listNames(root, "proc/driver/nvidia/gpus").flatMap((folder) => {
    const name = sysfsPciName(folder);
    const information = readText(root, `proc/driver/nvidia/gpus/${folder}/information`);
    return name !== null && fieldOf(information, "GPU Excluded") === "Yes" ? [name] : [];
  });
}
