import type { Action, Finding } from "../diagnosis.js";
import type { DeviceExamination, Examination } from "../examination.js";
import * as cpu from "./cpu-causes.js";
import * as device from "./device-causes.js";
import * as link from "./link-causes.js";
import * as memory from "./memory-causes.js";
import * as numa from "./numa-causes.js";
import * as path from "./path-causes.js";
import * as platform from "./platform-causes.js";
import { type Seen, type SharedLoss, type Suspect, shareLoss, unexplainedOf } from "./share-loss.js";

/** Looks for a cause on each device, or once on the machine (device null). Pure. */
type Cause = (examination: Examination) => [device: number | null, seen: Seen | null][];

/** Causes by name, always reported if found; docs/doctor.md has a line for each. */
export const causes: Readonly<Record<string, Cause>> = {
  "link-narrow": ofDevices(link.linkNarrow),
  "slot-narrow": ofDevices(link.slotNarrow),
  "link-errors": ofDevices(link.linkErrors),
  "link-uncorrected": ofDevices(link.linkUncorrected),
  "payload-small": ofDevices(path.payloadSmall),
  "numa-far": ofDevices(numa.numaFar),
  "huge-pages-off": ofDevices(memory.hugePagesOff),
  "registering-refused": ofDevices(memory.registeringRefused),
  "device-shared": ofDevices(device.deviceShared),
  "slow-at-first": ofDevices(device.slowAtFirst),
  "clocks-held": ofDevices(device.clocksHeld),
  "memory-errors": ofDevices(device.memoryErrors),
  "xid-errors": ofDevices(device.xidErrors),
  mig: ofDevices(device.dividedDevice),
  vgpu: ofDevices(device.virtualGpu),
  "confidential-computing": ofDevices(platform.confidentialComputing),
  "copies-wait": ofDevices(platform.copiesWait),
  grace: ofDevices(platform.grace),
  "uplink-shared": ofDevices(platform.uplinkShared),
  "both-ways-shared": ofDevices(platform.bothWaysShared),
  "wakes-slowly": ofMachine(cpu.wakesSlowly),
  "cpu-quota-low": ofMachine(cpu.cpuQuotaLow),
  "cpus-taken": ofMachine(cpu.cpusTaken),
  "memory-limit-low": ofMachine(memory.memoryLimitLow),
  "shared-memory-small": ofMachine(memory.sharedMemorySmall),
  "memory-short": ofMachine(memory.memoryShort),
  "virtual-machine": ofMachine(platform.virtualMachine),
  wsl: ofMachine(platform.wsl),
};

/**
 * Settings that no experiment can distinguish, likeliest first. A device that is slow for no other reason gets the
 * first one; after that was tried, the next.
 */
export const suspicions: Readonly<Record<string, Cause>> = {
  "iommu-translates": ofDevices(path.iommuTranslates),
  "governor-saves": ofMachine(cpu.governorSaves),
};

function ofDevices(find: (device: DeviceExamination, examination: Examination) => Seen | null): Cause {
  return (examination) =>
    examination.devices.map((device) => [device.facts.ordinal, find(device, examination)]);
}

function ofMachine(find: (examination: Examination) => Seen | null): Cause {
  return (examination) => [[null, find(examination)]];
}

/** Findings for what a cause has seen. The weight follows from the claim, unless `seen` sets it. */
export function suspectsOf(cause: string, device: number | null, seen: Seen | null): Suspect[] {
  if (seen === null) return [];
  const weight = seen.claim === undefined ? "risk" : "costs";
  return [{ cause, device, weight, cost: null, fix: null, sureness: "certain", ...seen }];
}

/** Everything that these causes find. */
export function suspectsIn(some: Readonly<Record<string, Cause>>, examination: Examination): Suspect[] {
  return Object.entries(some).flatMap(([cause, find]) =>
    find(examination).flatMap(([device, seen]) => suspectsOf(cause, device, seen)),
  );
}

/** All findings with their costs, and each device's unexplained loss. */
export function findCauses(examination: Examination): SharedLoss {
  const shared = shareLoss(examination, suspectsIn(causes, examination));
  const devices = examination.devices.filter((device) =>
    Object.values(unexplainedOf(shared, device)).some((rest) => rest !== null),
  );
  const [first, ...others] = suspectsIn(suspicions, { ...examination, devices });
  if (first === undefined) return shared;
  const alike = others.filter(({ cause }) => cause === first.cause);
  return { ...shared, findings: [...shared.findings, first, ...alike] };
}

const weights: readonly Finding["weight"][] = ["costs", "risk", "explains"];

/** Findings in the order of a diagnosis. Equal rounded costs keep their order: causes before the unexplained loss. */
export function byWeight<Some extends Pick<Finding, "weight" | "cost">>(findings: readonly Some[]): Some[] {
  const costOf = ({ cost }: Some) => Math.round((cost?.gigabytesPerSecond ?? 0) * 100);
  return [...findings].sort(
    (a, b) => weights.indexOf(a.weight) - weights.indexOf(b.weight) || costOf(b) - costOf(a),
  );
}

/**
 * Actions for automation by cause: if it costs bandwidth here, and otherwise. Other causes are settings or explanations
 * and need no action.
 */
const actions: Readonly<Record<string, readonly [costs: Action, otherwise: Action]>> = {
  "wrong-data": ["isolate", "isolate"],
  "cuda-fails": ["isolate", "isolate"],
  "device-fails": ["reset", "reset"],
  "memory-errors": ["reset", "reset"],
  "link-narrow": ["isolate", "monitor"],
  "link-errors": ["isolate", "monitor"],
  "clocks-held": ["isolate", "monitor"],
  "slow-together": ["isolate", "none"],
  unexplained: ["isolate", "monitor"],
  "link-uncorrected": ["monitor", "monitor"],
  "xid-errors": ["monitor", "monitor"],
  "device-shared": ["monitor", "monitor"],
  "slow-at-first": ["monitor", "monitor"],
  "slow-copies": ["monitor", "monitor"],
  "cpus-taken": ["monitor", "monitor"],
  "memory-short": ["monitor", "monitor"],
};

export function actionOf({ cause, weight }: Pick<Finding, "cause" | "weight">): Action {
  return actions[cause]?.[weight === "costs" ? 0 : 1] ?? "none";
}
