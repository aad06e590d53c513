import { fieldOf, readStart, readText } from "./files.js";

/** The kernel's release, such as "6.8.0-45-generic"; "unknown" where /proc does not tell. */
export function kernelRelease(root = "/"): string {
  return readText(root, "proc/sys/kernel/osrelease") ?? "unknown";
}

/** The machine's name on the network; "unknown" where /proc does not tell. */
export function hostname(root = "/"): string {
  return readText(root, "proc/sys/kernel/hostname") ?? "unknown";
}

/**
 * The CPU as the kernel names it; "unknown" where it does not. Arm kernels give no name but the codes of implementer
 * and part, which are shown as they are.
 */
export function cpuModel(root = "/"): string {
  const field = (key: string) => cpuInfoField(root, key);
  const name = field("model name") ?? field("cpu model") ?? field("cpu");
  if (name !== null && name !== "") return name.replace(/\s+/g, " ");
  const [implementer, part] = [field("CPU implementer"), field("CPU part")];
  if (implementer !== null && part !== null) return `implementer ${implementer} part ${part}`;
  return "unknown";
}

/**
 * A field of /proc/cpuinfo's first CPU. Reading on would be slow on a large machine: the kernel asks every CPU for its
 * frequency.
 */
export function cpuInfoField(root: string, key: string): string | null {
  return fieldOf(readStart(root, "proc/cpuinfo", 16 * 1024), key);
}

/** The setting of transparent huge pages in force ("always", "madvise" or "never"); null where the kernel has none. */
export function transparentHugePages(root = "/"): string | null {
  const choices = readText(root, "sys/kernel/mm/transparent_hugepage/enabled") ?? "";
  return /\[(\w+)\]/.exec(choices)?.[1] ?? null;
}

/** The frequency governor of a CPU; null where frequencies are not the kernel's to choose. */
export function frequencyGovernor(cpu: number, root = "/"): string | null {
  return readText(root, `sys/devices/system/cpu/cpu${cpu}/cpufreq/scaling_governor`);
}
