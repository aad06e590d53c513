import type {
  DeviceExamination,
  DeviceMeasurements,
  Examination,
  Rates,
} from "../../src/doctor/examination.js";
import { type MachineCounters, readMachineFacts } from "../../src/doctor/facts/machine-facts.js";
import { readPciPath } from "../../src/doctor/facts/pci-path.js";
import type { OtherProgram } from "../../src/host/other-programs.js";
import type { DeviceHealth } from "../../src/native/device-contract.js";
import { linkLimitGBps } from "../../src/results/device-facts.js";
import { gpuNames } from "./machine-tree.js";

/** Rates of copies to the device and back; missing ones were not measured. */
export function rates(h2d: number | null, d2h: number | null): Rates {
  return { h2d, d2h };
}

/** A program that has a device open. */
export function otherProgram(fields: Partial<OtherProgram>): OtherProgram {
  const python = { kind: "program", pid: 4711, name: "python3" } as const;
  return { ...python, since: null, deviceMemoryBytes: null, wasThereBefore: true, ...fields };
}

/** NVML's facts on a healthy H100 during copies. */
export const healthyHealth: DeviceHealth = {
  link: {
    generation: 5,
    width: 16,
    maxGeneration: 5,
    maxWidth: 16,
    smClockMHz: 1980,
    memoryClockMHz: 2619,
  },
  cardMaxGeneration: 5,
  replays: 3,
  clockReasons: [],
  maxSmClockMHz: 1980,
  temperatureC: 36,
  powerWatts: 118.2,
  powerLimitWatts: 700,
  eccErrors: 0,
  retirementPending: false,
  migEnabled: false,
  confidentialComputing: false,
  c2cLinks: 0,
};

/** Measurements of a healthy H100: copies of the other processor's memory are slower, as expected. */
export const healthyMeasurements: DeviceMeasurements = {
  pinned: rates(55.6, 55.2),
  pageable: rates(14.1, 11.3),
  registered: { rates: rates(55.5, 55.1), refused: null },
  together: null,
  nodes: [
    { node: 0, rates: rates(55.6, 55.2) },
    { node: 1, rates: rates(49.8, 47.1) },
  ],
  latency: { backToBackUs: 8.2, afterRestUs: 15.9 },
};

/** Differences from the healthy device; `health` applies to all readings: before, under and after load. */
export interface DeviceChange {
  health?: Partial<DeviceHealth>;
  before?: Partial<DeviceHealth>;
  after?: Partial<DeviceHealth>;
  measured?: Partial<DeviceMeasurements>;
  facts?: Partial<DeviceExamination["facts"]>;
  other?: Partial<Omit<DeviceExamination, "measured" | "facts">>;
}

/** An examination of the machine in a tree, with this many devices, each with the change. */
export function examinationOf(
  root: string,
  change: DeviceChange = {},
  { devices = 1, before = null }: { devices?: 1 | 2; before?: MachineCounters | null } = {},
): Examination {
  return {
    emulated: false,
    machine: readMachineFacts(root, before),
    devices: gpuNames
      .slice(0, devices)
      .map((name, ordinal) => deviceWith(readPciPath(name, root), ordinal, change)),
  };
}

/** A device at this path, with the change. */
export function deviceWith(
  path: DeviceExamination["path"],
  ordinal: number,
  change: DeviceChange,
): DeviceExamination {
  const underLoad = { ...healthyHealth, ...change.health };
  // At rest a device lowers its link's speed and its clocks, and reports that.
  const atRest = {
    ...underLoad,
    link: underLoad.link === null ? null : { ...underLoad.link, generation: 1 },
    clockReasons: ["gpu-idle"],
  };
  return {
    facts: {
      ordinal,
      name: "NVIDIA H100 80GB HBM3",
      uuid: `GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3${ordinal}`,
      pciBusId: gpuNames[ordinal]!,
      totalMemoryBytes: 85_017_493_504,
      computeCapability: "9.0",
      multiprocessors: 132,
      l2CacheBytes: 52_428_800,
      copyEngines: 3,
      integrated: false,
      canMapHostMemory: true,
      canRegisterHostMemory: true,
      readsPageable: false,
      coherent: false,
      peers: [],
      link: null,
      ...change.facts,
    },
    path,
    health: { before: { ...atRest, ...change.before }, underLoad, after: { ...atRest, ...change.after } },
    correctableErrors: 0,
    others: [],
    limitGBps: linkLimitGBps(underLoad.link?.generation ?? null, underLoad.link?.width ?? null),
    expected: rates(55.4, 55),
    reference: { source: "a test", tolerance: 0.05 },
    measured: { ...healthyMeasurements, ...change.measured },
    activityBefore: { computePercent: 0, toDeviceBytesPerSecond: 20_000, fromDeviceBytesPerSecond: 0 },
    wrongCopies: 0,
    copied: { made: 120, proven: 120, provenH2d: 60, provenD2h: 60, bytes: 20e9 },
    ...{ failure: null, failureKind: "device" },
    ...change.other,
  };
}
