import { exists, fieldOf, readCount, readStart, readText } from "./files.js";

export function kernelRelease(root = "/"): string {
  return readText(root, "proc/sys/kernel/osrelease") ?? "unknown";
}

export function hostname(root = "/"): string {
  return readText(root, "proc/sys/kernel/hostname") ?? "unknown";
}

/**
 * The kernel's name for the CPU; "unknown" without one. Arm kernels report only implementer and part codes: those of
 * machines with NVIDIA GPUs are translated, others are shown unchanged.
 */
export function cpuModel(root = "/"): string {
  const field = (key: string) => cpuInfoField(root, key);
  const name = field("model name");
  if (name !== null && name !== "") return name.replace(/\s+/g, " ");
  const [implementer, part] = [field("CPU implementer"), field("CPU part")];
  if (implementer === null || part === null) return "unknown";
  return armNames[`${implementer} ${part}`] ?? `implementer ${implementer} part ${part}`;
}

/** Arm names by implementer and part (Linux, arch/arm64/include/asm/cputype.h). */
const armNames: Readonly<Record<string, string>> = {
  "0x41 0xd0c": "Arm Neoverse N1",
  "0x41 0xd40": "Arm Neoverse V1",
  "0x41 0xd42": "Arm Cortex-A78AE",
  "0x41 0xd49": "Arm Neoverse N2",
  "0x41 0xd4f": "Arm Neoverse V2",
  "0x41 0xd84": "Arm Neoverse V3",
  "0x41 0xd85": "Arm Cortex-X925",
  "0x41 0xd87": "Arm Cortex-A725",
  "0x41 0xd8e": "Arm Neoverse N3",
  "0x4e 0x004": "NVIDIA Carmel",
  "0xc0 0xac3": "Ampere-1",
};

/**
 * A field of the first CPU in /proc/cpuinfo. Reading more is slow on large machines, because the kernel asks every CPU
 * for its frequency.
 */
export function cpuInfoField(root: string, key: string): string | null {
  return fieldOf(readStart(root, "proc/cpuinfo", 16 * 1024), key);
}

/** The active setting of transparent huge pages ("always", "madvise" or "never"); null if the kernel has none. */
export function transparentHugePages(root = "/"): string | null {
  const choices = readText(root, "sys/kernel/mm/transparent_hugepage/enabled") ?? "";
  return /\[(\w+)\]/.exec(choices)?.[1] ?? null;
}

/** The size of a transparent huge page: 2 MiB, or on arm64 also 32 or 512 MiB. */
export function hugePageBytes(root = "/"): number {
  return readCount(root, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size") || 2 * 1024 * 1024;
}

/** The frequency governor of a CPU; null if the kernel does not set frequencies. */
export function frequencyGovernor(cpu: number, root = "/"): string | null {
  return readText(root, `sys/devices/system/cpu/cpu${cpu}/cpufreq/scaling_governor`);
}

/** Hypervisors by the vendor or product name of their firmware. */
const firmwareNames: readonly { pattern: RegExp; name: string }[] = [
  { pattern: /VMware/i, name: "vmware" },
  { pattern: /VirtualBox|innotek/i, name: "virtualbox" },
  { pattern: /Microsoft Corporation.*Virtual Machine/i, name: "hyper-v" },
  { pattern: /Google Compute Engine/i, name: "google compute engine" },
  { pattern: /Amazon EC2/i, name: "amazon ec2" },
  { pattern: /Xen/i, name: "xen" },
  { pattern: /QEMU|KVM|OpenStack|RHEV|oVirt/i, name: "kvm" },
  { pattern: /Parallels/i, name: "parallels" },
  { pattern: /bhyve/i, name: "bhyve" },
];

/**
 * The hypervisor of this machine; "unknown hypervisor" if only the CPU reports one; null on bare metal, or if none is
 * found.
 */
export function virtualization(root = "/"): string | null {
  if (isWsl2(root)) return "wsl2";
  const cpuFlags = cpuInfoField(root, "flags");
  const hypervisorType = readText(root, "sys/hypervisor/type");
  if (hypervisorType !== null && hypervisorType !== "") return hypervisorType;
  const firmware = ["sys_vendor", "product_name"]
    .map((file) => readText(root, `sys/class/dmi/id/${file}`) ?? "")
    .join(" ");
  const known = firmwareNames.find(({ pattern }) => pattern.test(firmware))?.name ?? null;
  if (cpuFlags?.split(" ").includes("hypervisor")) return known ?? "unknown hypervisor";
  // If the CPU could set the flag but does not, the firmware's name is that of a cloud's bare-metal machine.
  return cpuFlags === null ? known : null;
}

/** Control groups of container engines; a service such as docker.service does not match. */
const groupHints: readonly { pattern: RegExp; name: string }[] = [
  { pattern: /\/docker\/|docker-[0-9a-f]{12}/, name: "docker" },
  { pattern: /libpod-/, name: "podman" },
  { pattern: /\/lxc\/|lxc\.payload/, name: "lxc" },
  { pattern: /cri-containerd/, name: "containerd" },
];

/**
 * The container of this process ("docker", "podman", "kubernetes", "lxc", "containerd", "apptainer"). Null if none is
 * found: cgroup namespaces hide most signs.
 */
export function container(root = "/"): string | null {
  const groups = readText(root, "proc/self/cgroup") ?? "";
  if (/kubepods/.test(groups) || exists(root, "var/run/secrets/kubernetes.io/serviceaccount/namespace")) {
    return "kubernetes";
  }
  if (exists(root, ".dockerenv")) return "docker";
  if (exists(root, "run/.containerenv")) return "podman";
  if (exists(root, ".singularity.d")) return "apptainer";
  return groupHints.find(({ pattern }) => pattern.test(groups))?.name ?? null;
}

/** WSL 2 kernels are named "…-microsoft-standard-WSL2"; WSL 1 has no GPU. */
function isWsl2(root: string): boolean {
  return /microsoft.*WSL2/i.test(kernelRelease(root));
}

/**
 * Whether GPU memory appears as NUMA nodes without CPUs, as with NVIDIA Grace. Its CPU is a Neoverse V2 by Arm
 * (implementer 0x41); Amazon's Graviton 4 has the same cores without NVLink-C2C.
 */
export function joinsGpuMemory(root = "/"): boolean {
  return (
    cpuInfoField(root, "CPU implementer") === "0x41" &&
    cpuInfoField(root, "CPU part") === "0xd4f" &&
    !/amazon/i.test(readText(root, "sys/class/dmi/id/sys_vendor") ?? "")
  );
}
