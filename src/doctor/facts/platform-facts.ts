import { exists, fieldOf, listNames, readStart, readText } from "../../host/files.js";
import { sysfsPciName } from "../../host/topology.js";

/** What kind of machine this is, and what the kernel and NVIDIA's driver were told; null where it is not known. */
export interface PlatformFacts {
  /** How a confidential virtual machine is kept from its host: "AMD SEV-SNP", "Intel TDX"; null for any other machine. */
  confidentialGuest: string | null;
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
export function readPlatformFacts(root: string): PlatformFacts {
  const cpu = readStart(root, "proc/cpuinfo", 16 * 1024);
  return {
    confidentialGuest: readConfidentialGuest(cpu, root),
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
