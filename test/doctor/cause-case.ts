import { byWeight, causes, findCauses, suspectsIn, suspicions } from "../../src/doctor/causes/causes.js";
import type { Cost, Finding } from "../../src/doctor/diagnosis.js";
import type { Examination } from "../../src/doctor/examination.js";
import type { MachineFacts } from "../../src/doctor/facts/machine-facts.js";
import type { PciPort } from "../../src/doctor/facts/pci-path.js";
import {
  type DeviceChange,
  deviceWith,
  examinationOf,
  healthyHealth,
  rates,
} from "../helpers/examination.js";
import { machineTree, type TreeFiles } from "../helpers/machine-tree.js";

/** A healthy machine with one change, and the finding that it must lead to. */
export interface CauseCase {
  what: string;
  files?: TreeFiles;
  change?: DeviceChange;
  machine?: Partial<Omit<Examination, "machine" | "devices">>;
  devices?: 1 | 2;
  cause: string;
  weight: Finding["weight"];
  /** Expected cost, within 1 %. */
  cost?: Pick<Cost, "direction" | "gigabytesPerSecond" | "basis">;
  /** A text that the finding must have, in its summary, evidence or fix. */
  says?: string;
}

/** 20 % below the expected rate, on every node. */
export const slow = { pinned: rates(44, 44), nodes: [] };
/** A device on which NVML reports nothing. */
export const noHealth = { before: null, underLoad: null, after: null };
export const unseen: DeviceChange = { other: { health: noHealth } };
/** The line of evidence with the rates of a slow device. */
export const slowText = (than = "the expected rate") =>
  `pinned copies: 44.0 GB/s to the device, 44.0 GB/s back, below ${than}`;
/** NVML's report on a device to which another program copies. */
export const busy = { computePercent: 0, toDeviceBytesPerSecond: 20e9, fromDeviceBytesPerSecond: 0 };
/** The healthy link under load. */
export const link = healthyHealth.link!;

/** The same context for each diagnosis. */
export const diagnosisContext = {
  backend: "cuda",
  sizeBytes: 2 ** 26,
  createdAt: new Date("2026-11-22T10:00:00Z"),
  wallNs: 9e9,
  labels: {},
} as const;

/** All findings, in the order of a diagnosis. */
export const foundIn = (examination: Examination) => byWeight(findCauses(examination).findings);

/** Facts that differ from those of the healthy machine. */
export type MachineChange = Partial<Record<keyof MachineFacts, unknown>>;

let healthy: Examination | null = null;

/** The healthy machine, read once: two devices behind one switch. */
export function healthyExamination(): Examination {
  healthy ??= examinationOf(machineTree(), {}, { devices: 2 });
  return healthy;
}

/** The path of its first device, and the ports on it. */
export const healthyPath = healthyExamination().devices[0]!.path;
export const [gpu, downstream, upstream, root] = healthyPath.ports as [PciPort, PciPort, PciPort, PciPort];

/** The findings of one cause on the healthy machine, with changed facts and devices. */
export function saysOf(
  cause: string,
  machine: MachineChange = {},
  change: DeviceChange | readonly [DeviceChange, DeviceChange] = {},
) {
  const changes = Array.isArray(change) ? (change as readonly DeviceChange[]) : [change as DeviceChange];
  const { devices, machine: facts } = healthyExamination();
  const parts = Object.entries(machine).map(([part, value]) => {
    const own: unknown = facts[part as keyof MachineFacts];
    const isRecord = typeof own === "object" && own !== null && !Array.isArray(own);
    return [part, isRecord ? { ...own, ...(value as object) } : value];
  });
  return suspectsIn(
    { [cause]: { ...causes, ...suspicions }[cause]! },
    {
      ...healthyExamination(),
      machine: { ...facts, ...Object.fromEntries(parts) } as MachineFacts,
      devices: changes.map((one, i) => deviceWith(devices[i]!.path, i, one)),
    },
  );
}

/** The first device with changed ports, from its own port up; null hides a port. */
export function withPorts(
  changes: readonly (Partial<PciPort> | null)[],
  more: DeviceChange = {},
): DeviceChange {
  const ports = healthyPath.ports.flatMap((port, i) =>
    changes[i] === null ? [] : [{ ...port, ...changes[i] }],
  );
  return { ...more, other: { ...more.other, path: { ...healthyPath, ports } } };
}

/** The first device if only its own port is visible. */
export const deviceOnly = (own: Partial<PciPort>, more: DeviceChange = {}) =>
  withPorts([own, null, null, null], more);
