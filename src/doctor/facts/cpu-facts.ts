import { parseCpuList } from "../../host/cpus.js";
import { listNames, readCount, readText } from "../../host/files.js";
import { cpusOfNode, numaNodes } from "../../host/topology.js";

/** A state that a CPU may sleep in while it has nothing to do (the kernel's Documentation/admin-guide/pm/cpuidle.rst). */
export interface IdleState {
  /** As the driver names it: "POLL", "C1", "C6". */
  name: string;
  /** What waking from it takes at most. */
  exitLatencyUs: number;
  disabled: boolean;
  /** Time that the CPU has spent in it since boot. */
  timeUs: number | null;
}

/** What the CPUs that this process may use do when there is little to do, and what they share. */
export interface CpuFacts {
  /** Cores that the allowed CPUs are threads of; null where sysfs does not tell. */
  allowedCores: number | null;
  /** CPUs that the machine has online; null where it is not told. */
  online: number | null;
  /** What sets the frequency: "intel_pstate", "amd-pstate-epp", "acpi-cpufreq"; null where nothing here does. */
  frequencyDriver: string | null;
  /** Of the first allowed CPU, from the lightest to the deepest; empty where the kernel does not tell. */
  idleStates: readonly IdleState[];
}

/** Nodes of a machine's memory, and the CPUs next to them. */
export interface NumaNodeFacts {
  node: number;
  /** None for a node of memory alone. */
  cpus: readonly number[];
  /** The processor that its CPUs are part of; null without any, or where it is not told. */
  physicalPackage: number | null;
}

/** Reads what holds for these CPUs, those that the process may use. */
export function readCpuFacts(allowed: readonly number[], root: string): CpuFacts {
  const [first = 0] = allowed;
  return {
    allowedCores: countCores(allowed, root),
    online: parseCpuList(readText(root, "sys/devices/system/cpu/online") ?? "")?.length || null,
    frequencyDriver: readText(root, `sys/devices/system/cpu/cpu${first}/cpufreq/scaling_driver`),
    idleStates: readIdleStates(first, root),
  };
}

function countCores(allowed: readonly number[], root: string): number | null {
  const covered = new Set<number>();
  let cores = 0;
  for (const cpu of allowed) {
    if (covered.has(cpu)) continue;
    const siblings = parseCpuList(
      readText(root, `sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`) ?? "",
    );
    if (siblings === null || !siblings.includes(cpu)) return null;
    for (const sibling of siblings) covered.add(sibling);
    ++cores;
  }
  return cores;
}

function readIdleStates(cpu: number, root: string): IdleState[] {
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

/** The nodes that are online, ascending. */
export function readNumaNodes(root: string): NumaNodeFacts[] {
  return numaNodes(root).map((node) => {
    const cpus = cpusOfNode(node, root) ?? [];
    const physicalPackage =
      cpus.length === 0
        ? null
        : readCount(root, `sys/devices/system/cpu/cpu${cpus[0]}/topology/physical_package_id`);
    return { node, cpus, physicalPackage };
  });
}
