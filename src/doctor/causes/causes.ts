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

/** Looks for a cause on one device, or on the machine. Pure. */
type DeviceCause = (device: DeviceExamination, examination: Examination) => Seen | null;
type MachineCause = (examination: Examination) => Seen | null;

/** Finds a cause wherever it is. */
type Cause = (examination: Examination) => Suspect[];

/** Causes that are reported wherever they are found, by name; docs/doctor.md has a line for each. */
export const causes: Readonly<Record<string, Cause>> = {
  ...ofDevices({
    "link-narrow": link.linkNarrow,
    "slot-narrow": link.slotNarrow,
    "link-errors": link.linkErrors,
    "link-uncorrected": link.linkUncorrected,
    "payload-small": path.payloadSmall,
    "peers-redirected": path.peersRedirected,
    "window-small": path.windowSmall,
    "numa-far": numa.numaFar,
    "huge-pages-off": memory.hugePagesOff,
    "registering-refused": memory.registeringRefused,
    "device-shared": device.deviceShared,
    "slow-at-first": device.slowAtFirst,
    "clocks-held": device.clocksHeld,
    "memory-clock-low": device.memoryClockLow,
    "memory-errors": device.memoryErrors,
    "xid-errors": device.xidErrors,
    mig: device.dividedDevice,
    vgpu: device.virtualGpu,
    "confidential-computing": platform.confidentialComputing,
    "copies-wait": platform.copiesWait,
    grace: platform.grace,
    "uplink-shared": platform.uplinkShared,
    "both-ways-shared": platform.bothWaysShared,
  }),
  ...ofMachine({
    "wakes-slowly": cpu.wakesSlowly,
    "cores-shared": cpu.coresShared,
    "cpu-quota-low": cpu.cpuQuotaLow,
    "cpus-taken": cpu.cpusTaken,
    "memory-limit-low": memory.memoryLimitLow,
    "shared-memory-small": memory.sharedMemorySmall,
    "memory-short": memory.memoryShort,
    "huge-pool-large": memory.hugePoolLarge,
    "gpus-excluded": device.gpusExcluded,
    "virtual-machine": platform.virtualMachine,
    wsl: platform.wsl,
  }),
};

/**
 * Settings that no experiment can distinguish, the likeliest first. One of them is named for devices that are slow for
 * no other reason; after it has been tried, the next one.
 */
export const suspicions: Readonly<Record<string, Cause>> = {
  ...ofDevices({
    "relaxed-ordering-off": path.relaxedOrderingOff,
    "read-request-small": path.readRequestSmall,
    "iommu-translates": path.iommuTranslates,
  }),
  ...ofMachine({ "governor-saves": cpu.governorSaves, "numa-balancing": numa.numaBalancing }),
};

function ofDevices(finds: Readonly<Record<string, DeviceCause>>): Record<string, Cause> {
  return mapped(
    finds,
    (cause, find) => (examination) =>
      examination.devices.flatMap((device) =>
        suspectsOf(cause, device.facts.ordinal, find(device, examination)),
      ),
  );
}

function ofMachine(finds: Readonly<Record<string, MachineCause>>): Record<string, Cause> {
  return mapped(finds, (cause, find) => (examination) => suspectsOf(cause, null, find(examination)));
}

function mapped<Find>(
  finds: Readonly<Record<string, Find>>,
  map: (cause: string, find: Find) => Cause,
): Record<string, Cause> {
  return Object.fromEntries(Object.entries(finds).map(([cause, find]) => [cause, map(cause, find)]));
}

function suspectsOf(cause: string, device: number | null, seen: Seen | null): Suspect[] {
  if (seen === null) return [];
  const weight = seen.claim === undefined ? "risk" : "costs";
  return [{ cause, device, weight, cost: null, fix: null, sureness: "certain", ...seen }];
}

/** All findings with their costs, and the unexplained rest of each device's loss. */
export function findCauses(examination: Examination): SharedLoss {
  const found = Object.values(causes).flatMap((find) => find(examination));
  const shared = shareLoss(examination, found);
  const devices = examination.devices.filter((device) =>
    Object.values(unexplainedOf(shared, device)).some((rest) => rest !== null),
  );
  for (const suspect of Object.values(suspicions)) {
    const suspected = suspect({ ...examination, devices });
    if (suspected.length > 0) return { ...shared, findings: [...shared.findings, ...suspected] };
  }
  return shared;
}

const weights: readonly Finding["weight"][] = ["costs", "risk", "explains"];

/** Sorted as in a diagnosis; equal findings keep their order. */
export function byWeight<Some extends Pick<Finding, "weight" | "cost">>(findings: readonly Some[]): Some[] {
  const costOf = ({ cost }: Some) => cost?.gigabytesPerSecond ?? 0;
  return [...findings].sort(
    (a, b) => weights.indexOf(a.weight) - weights.indexOf(b.weight) || costOf(b) - costOf(a),
  );
}

/**
 * What automation should do with a node: by cause, if it costs bandwidth here, and otherwise. The other causes are
 * settings, or explain something: they need no action on the node.
 */
const actions: Readonly<Record<string, readonly [costs: Action, otherwise: Action]>> = {
  "wrong-data": ["isolate", "isolate"],
  "cuda-fails": ["isolate", "isolate"],
  "device-fails": ["reset", "reset"],
  "memory-errors": ["reset", "reset"],
  "link-narrow": ["isolate", "monitor"],
  "link-errors": ["isolate", "monitor"],
  "clocks-held": ["isolate", "monitor"],
  "memory-clock-low": ["monitor", "monitor"],
  "slow-together": ["isolate", "none"],
  unexplained: ["isolate", "monitor"],
  "link-uncorrected": ["monitor", "monitor"],
  "xid-errors": ["monitor", "monitor"],
  "gpus-excluded": ["monitor", "monitor"],
  "device-shared": ["monitor", "monitor"],
  "slow-at-first": ["monitor", "monitor"],
  "slow-copies": ["monitor", "monitor"],
  "cpus-taken": ["monitor", "monitor"],
  "memory-short": ["monitor", "monitor"],
};

export function actionOf({ cause, weight }: Pick<Finding, "cause" | "weight">): Action {
  return actions[cause]?.[weight === "costs" ? 0 : 1] ?? "none";
}
