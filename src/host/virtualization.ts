import { exists, readText } from "./files.js";
import { cpuInfoField, kernelRelease } from "./system.js";

/** What the firmware of virtual machines calls itself, in vendor or product. */
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
 * The hypervisor that this machine runs on, "unknown hypervisor" where the CPU reports one that has no name here, or
 * null on bare metal as far as can be told.
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
  // Where the CPU has such a flag and does not set it, the firmware's name is that of a cloud's bare-metal machine.
  return cpuFlags === null ? known : null;
}

/** Groups that container engines make; a service such as docker.service is none of them. */
const groupHints: readonly { pattern: RegExp; name: string }[] = [
  { pattern: /\/docker\/|docker-[0-9a-f]{12}/, name: "docker" },
  { pattern: /libpod-/, name: "podman" },
  { pattern: /\/lxc\/|lxc\.payload/, name: "lxc" },
  { pattern: /cri-containerd/, name: "containerd" },
];

/**
 * The container that this process runs in ("docker", "podman", "kubernetes", "lxc", "containerd", "apptainer"), or null
 * where there is none as far as can be told: cgroup namespaces hide most of the signs.
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

/** WSL 2 kernels name themselves "…-microsoft-standard-WSL2"; WSL 1 has no GPU. */
function isWsl2(root: string): boolean {
  return /microsoft.*WSL2/i.test(kernelRelease(root));
}
