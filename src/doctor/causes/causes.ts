import type { Action, Finding } from "../diagnosis.js";
import type { Examination } from "../examination.js";
import { coresShared, cpuQuotaLow, cpusTaken, governorSaves, wakesSlowly } from "./cpu-causes.js";
import {
  clocksHeld,
  deviceShared,
  dividedDevice,
  gpusExcluded,
  memoryClockLow,
  memoryErrors,
  slowAtFirst,
  virtualGpu,
  xidErrors,
} from "./device-causes.js";
import { linkErrors, linkNarrow, linkUncorrected, slotNarrow } from "./link-causes.js";
import {
  hugePagesOff,
  hugePoolLarge,
  memoryLimitLow,
  memoryShort,
  registeringRefused,
  sharedMemorySmall,
} from "./memory-causes.js";
import { numaBalancing, numaFar, subNuma } from "./numa-causes.js";
import {
  iommuTranslates,
  payloadSmall,
  peersRedirected,
  readRequestSmall,
  relaxedOrderingOff,
  windowSmall,
} from "./path-causes.js";
import {
  bothWaysShared,
  confidentialComputing,
  copiesWait,
  driverOld,
  emulatedDevice,
  grace,
  kernelsMissing,
  uplinkShared,
  virtualMachine,
  wsl,
} from "./platform-causes.js";
import { type SharedLoss, type Suspect, shareLoss, unexplainedOf } from "./share-loss.js";

/** Looks for a cause: returns a finding for each device or machine with it. Pure. */
type Cause = (examination: Examination) => Suspect[];

/** Causes that are reported wherever they are found, by name; docs/doctor.md has a line for each. */
export const causes: Readonly<Record<string, Cause>> = {
  "link-narrow": linkNarrow,
  "slot-narrow": slotNarrow,
  "link-errors": linkErrors,
  "link-uncorrected": linkUncorrected,
  "payload-small": payloadSmall,
  "peers-redirected": peersRedirected,
  "window-small": windowSmall,
  "numa-far": numaFar,
  "sub-numa": subNuma,
  "wakes-slowly": wakesSlowly,
  "cores-shared": coresShared,
  "cpu-quota-low": cpuQuotaLow,
  "cpus-taken": cpusTaken,
  "huge-pages-off": hugePagesOff,
  "registering-refused": registeringRefused,
  "memory-limit-low": memoryLimitLow,
  "shared-memory-small": sharedMemorySmall,
  "memory-short": memoryShort,
  "huge-pool-large": hugePoolLarge,
  "device-shared": deviceShared,
  "slow-at-first": slowAtFirst,
  "clocks-held": clocksHeld,
  "memory-clock-low": memoryClockLow,
  "memory-errors": memoryErrors,
  "xid-errors": xidErrors,
  "gpus-excluded": gpusExcluded,
  mig: dividedDevice,
  vgpu: virtualGpu,
  "virtual-machine": virtualMachine,
  wsl,
  "confidential-computing": confidentialComputing,
  "copies-wait": copiesWait,
  grace,
  "driver-old": driverOld,
  "uplink-shared": uplinkShared,
  "both-ways-shared": bothWaysShared,
  emulated: emulatedDevice,
  "kernels-missing": kernelsMissing,
};

/**
 * Settings that no experiment can distinguish, the likeliest first. One of them is named for devices that are slow for
 * no other reason; after it has been tried, the next one.
 */
export const suspicions: Readonly<Record<string, Cause>> = {
  "relaxed-ordering-off": relaxedOrderingOff,
  "read-request-small": readRequestSmall,
  "iommu-translates": iommuTranslates,
  "governor-saves": governorSaves,
  "numa-balancing": numaBalancing,
};

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
