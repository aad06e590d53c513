import { roundDown, roundUp } from "../../draw/numbers.js";
import { describeOther } from "../../host/other-programs.js";
import { sysfsPciName } from "../../host/topology.js";
import { isInstance, isVirtualGpu } from "../../reference/expectation.js";
import { ascending } from "../../stats/order-statistics.js";
import { type DeviceExamination, type Examination, linkDirections, shortfallGBps } from "../examination.js";
import { gigabytes, isSlow, ratesText } from "./cost.js";
import { cpusTaken } from "./cpu-causes.js";
import { claimOf, type Seen } from "./share-loss.js";

/** A device with less utilisation counts as idle: reading NVML itself causes some. */
const idleComputePercent = 5;
const idleLinkShare = 0.01;
/** Limit of an unknown link: generation 4 x16. */
const usualLimitGBps = 31.5;

/** Another process uses the device or its link. One that only has it open counts only if copies are slow. */
export function deviceShared(device: DeviceExamination): Seen | null {
  const others = device.others ?? [];
  const computePercent = device.activityBefore?.computePercent ?? 0;
  const link = linkTexts(device);
  const busy = [
    ...(computePercent >= idleComputePercent
      ? [`kernels ran ${computePercent} % of the time before the examination`]
      : []),
    ...link,
  ];
  const slow = isSlow(device);
  if (busy.length === 0 && !(slow && others.length > 0)) return null;
  // Other processes' copies may explain the whole loss. If the link has no traffic, their kernels cost at most the time
  // they run. A process that seems idle costs at most its share of turns.
  const claim = () => {
    if (busy.length === 0) return claimOf(1 / (1 + others.length), "open");
    const { toDeviceBytesPerSecond, fromDeviceBytesPerSecond } = device.activityBefore!;
    const isLinkSeen = toDeviceBytesPerSecond !== null && fromDeviceBytesPerSecond !== null;
    return isLinkSeen && link.length === 0
      ? claimOf(Math.max(0, 1 - computePercent / 100), "at most")
      : claimOf(0, "open");
  };
  return {
    summary:
      busy.length > 0
        ? "Another process used the device before the examination."
        : "Another process has the device open, and copies are slower than expected.",
    evidence: [
      ...others.slice(0, mostProcesses).map(describeOther),
      ...(others.length > mostProcesses ? [`${others.length - mostProcesses} more programs`] : []),
      ...busy,
      ...(slow ? [`pinned copies: ${ratesText(device.measured.pinned)}, below the expected rate`] : []),
    ],
    ...(slow && { claim: claim() }),
    fix: "Examine the device again when it is free (pinbench run --wait queues for it).",
    sureness: busy.length > 0 ? "likely" : "possible",
  };
}

/** Copies were slow only the first time: something disturbs the machine, and the device is not at fault. */
export function slowAtFirst(device: DeviceExamination): Seen | null {
  const { measured } = device;
  const { firstLook, pinned } = measured;
  if (firstLook === undefined) return null;
  const first = { ...device, measured: { ...measured, pinned: firstLook } };
  const isPassed = linkDirections.some(
    (direction) => shortfallGBps(first, direction) !== null && shortfallGBps(device, direction) === null,
  );
  if (!isPassed) return null;
  return {
    summary: "Copies were slow at first, but not when measured again.",
    evidence: [`first look: ${ratesText(firstLook)}`, `best of two looks: ${ratesText(pinned)}`],
    fix: "Find out what else runs on this machine or its host from time to time.",
  };
}

const mostProcesses = 5;

function linkTexts({ activityBefore, limitGBps }: DeviceExamination): string[] {
  const idleGBps = (limitGBps ?? usualLimitGBps) * idleLinkShare;
  const linkText = (bytesPerSecond: number | null | undefined, where: string) => {
    const rate = (bytesPerSecond ?? 0) / 1e9;
    return rate > idleGBps ? [`link before the examination: ${gigabytes(rate)} ${where}`] : [];
  };
  return [
    ...linkText(activityBefore?.toDeviceBytesPerSecond, "to the device"),
    ...linkText(activityBefore?.fromDeviceBytesPerSecond, "back"),
  ];
}

/** NVML's reasons for lower clocks that indicate a fault while only copies run, unlike idling and settings. */
const holdingReasons: ReadonlyMap<string, string> = new Map([
  ["hw-thermal-slowdown", "it is too hot"],
  ["sw-thermal-slowdown", "it is too hot"],
  ["hw-power-brake-slowdown", "the power supply asks for it"],
  ["sw-power-cap", "it is at its power limit"],
  ["hw-slowdown", "of heat or power"],
]);

export function clocksHeld(device: DeviceExamination, examination: Examination): Seen | null {
  // A job that keeps the CPUs busy may also heat the device.
  const isBusy = cpusTaken(examination) !== null;
  const health = device.health.underLoad;
  const found = [...holdingReasons].filter(([reason]) => health?.clockReasons?.includes(reason));
  const [first] = found;
  if (health === null || first === undefined) return null;
  const slow = isSlow(device);
  const isPower = /power/.test(first[0]);
  const clock = health.link?.smClockMHz ?? null;
  // Copies lose at most the share that clocks lost.
  const left = clock === null || !health.maxSmClockMHz ? 1 : Math.min(1, clock / health.maxSmClockMHz);
  return {
    summary: `The device holds its clocks down while it copies, because ${first[1]}.`,
    evidence: [
      `reasons that NVML gives: ${found.map(([reason]) => reason).join(", ")}`,
      ...(clock === null || !health.maxSmClockMHz ? [] : [`clock: ${clock} of ${health.maxSmClockMHz} MHz`]),
      ...(health.temperatureC === null ? [] : [`temperature: ${health.temperatureC} °C`]),
      ...(health.powerWatts === null || health.powerLimitWatts === null
        ? []
        : [`power: ${roundUp(health.powerWatts, 0)} of ${roundDown(health.powerLimitWatts, 0)} W`]),
    ],
    ...(slow && { claim: claimOf(left, "at most") }),
    fix: isPower
      ? "Check power supplies, cables and the power limit (nvidia-smi -q -d POWER)."
      : "Check this device's fans, air flow and heat sink.",
    sureness: slow ? (isBusy ? "possible" : "likely") : "certain",
    ...(isBusy && { action: "monitor" }),
  };
}

/** Memory errors, after which the device needs a reset or replacement. */
export function memoryErrors({ facts, health: { before, after } }: DeviceExamination): Seen | null {
  const health = after ?? before;
  const errors = health?.eccErrors ?? 0;
  const pending = health?.retirementPending === true;
  if (errors === 0 && !pending) return null;
  return {
    summary: pending
      ? "The next reset retires parts of the device's memory."
      : "The device's memory had uncorrectable errors.",
    evidence: [
      ...(errors > 0 ? [`${errors} uncorrected errors since the driver was loaded (ECC)`] : []),
      ...(pending ? ["a reset is pending, to retire pages or to remap rows"] : []),
    ],
    fix: `Drain the node and reset the device: nvidia-smi --gpu-reset -i ${facts.ordinal}.`,
  };
}

/** Errors that programs can cause: 13, 31, 43 and 45 (NVIDIA's document "XID Errors"). */
const programsOwnXids: ReadonlySet<number> = new Set([13, 31, 43, 45]);

/** Errors logged by the driver since boot, except those of programs. */
export function xidErrors({ facts }: DeviceExamination, { machine }: Examination): Seen | null {
  const errors = (machine.xidErrors ?? []).filter(
    ({ pciName, xid }) => pciName === sysfsPciName(facts.pciBusId) && !programsOwnXids.has(xid),
  );
  const kinds = ascending(errors.map(({ xid }) => xid));
  if (kinds.length === 0) return null;
  return {
    summary: `The driver logged ${errors.length === 1 ? "an error" : `${errors.length} errors`} of this device since boot (Xid ${kinds.join(", ")}).`,
    evidence: kinds.map((kind) => {
      const ofKind = errors.filter(({ xid }) => xid === kind);
      return `Xid ${kind}${ofKind.length > 1 ? `, ${ofKind.length} times` : ""}: ${ofKind.at(-1)!.text.slice(0, mostCharacters)}`;
    }),
    fix: `Look up Xid ${kinds[0]} in NVIDIA's document "XID Errors", which says whether to reset or to replace the device.`,
  };
}

const mostCharacters = 120;

/** The device is divided into MIG instances, which share its link and copy engines. */
export function dividedDevice(device: DeviceExamination): Seen | null {
  const isMigReported = (device.health.before ?? device.health.underLoad)?.migEnabled === true;
  if (!isMigReported && !isInstance(device.facts.name)) return null;
  const slow = isSlow(device);
  return {
    weight: "explains",
    summary:
      "The device is divided into instances (MIG): an instance has a part of its copy engines, and all share the link.",
    evidence: [
      isMigReported ? "MIG is enabled" : `its name: ${device.facts.name}`,
      ...(slow ? [`pinned copies: ${ratesText(device.measured.pinned)}, below the whole device's rate`] : []),
    ],
    ...(slow && { claim: claimOf(0, "open") }),
  };
}

/** The guest has a part of a device; other guests use the rest of its copy engines and link. */
export function virtualGpu({ facts: { name } }: DeviceExamination): Seen | null {
  if (!isVirtualGpu(name)) return null;
  return {
    weight: "explains",
    summary:
      "The device is a virtual GPU (vGPU): it shares copy engines and link with other virtual machines.",
    evidence: [`its name: ${name}`],
  };
}
