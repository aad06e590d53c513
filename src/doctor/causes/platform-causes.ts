import { emulatedNotice } from "../../results/device-facts.js";
import { formatSizeRounded } from "../../settings/units.js";
import type { DeviceExamination, DeviceMeasurements, Examination } from "../examination.js";
import type { MachineFacts } from "../facts/machine-facts.js";
import {
  directionName,
  isSlow,
  type LinkDirection,
  linkDirections,
  ratesText,
  reachesExpectation,
} from "./cost.js";
import { copiesPastPcie } from "./path-links.js";
import { claimOf, type Suspect } from "./share-loss.js";

/** A virtual machine hides most of the host from the guest. */
export function virtualMachine({ machine, devices }: Examination): Suspect[] {
  const { virtualization } = machine.host;
  if (virtualization === null || virtualization === "wsl2") return [];
  const hidden = [
    ...(devices.some(({ path }) => path.ports.length < 2) ? ["the bridges between device and CPU"] : []),
    ...(devices.some(({ path }) => path.numaNode === null)
      ? ["the NUMA node that the device is attached to"]
      : []),
    ...(machine.host.governor === null ? ["the frequencies of the CPUs"] : []),
  ];
  if (hidden.length === 0) return [];
  return [
    {
      cause: "virtual-machine",
      device: null,
      weight: "explains",
      summary: "This is a virtual machine: some causes of slow copies can be seen only on its host.",
      evidence: [`hypervisor: ${virtualization}`, `not shown to guests: ${hidden.join("; ")}`],
      cost: null,
      fix: null,
      sureness: "certain",
    },
  ];
}

/** Windows pins and copies for Linux: some operations are slower, and less memory can be pinned. */
export function wsl({ machine, devices }: Examination): Suspect[] {
  if (machine.host.virtualization !== "wsl2") return [];
  const refused = devices.flatMap(({ measured: { registered } }) => registered.refused ?? []);
  return [
    {
      cause: "wsl",
      device: null,
      weight: "explains",
      summary: "This is WSL 2: the Windows driver makes the copies and limits pinned memory.",
      evidence: [
        `kernel: ${machine.host.kernel}`,
        "a machine with 63 GiB could pin 0.75 to 1 GiB in all",
        ...refused.map((reason) => `registering memory: ${reason}`),
      ],
      cost: null,
      fix: "Keep pinned pools below 512 MiB, or find with pinbench pin --sizes which amounts are refused here.",
      sureness: "certain",
    },
  ];
}

/** Pageable copies from this share of the pinned rate on count as equally fast. */
const nearPinned = 0.8;

function pageableNearPinned({ measured: { pageable, pinned } }: DeviceExamination): boolean {
  return linkDirections.some(
    (direction) =>
      pinned[direction] !== null &&
      pageable[direction] !== null &&
      pageable[direction] >= pinned[direction] * nearPinned,
  );
}

/** All copies are encrypted, and pass through buffers that host and device may both read: pinning gains nothing. */
export function confidentialComputing({ machine, devices }: Examination): Suspect[] {
  return devices.flatMap((device): Suspect[] => {
    const { health, facts, measured } = device;
    const saysDriver = (health.before ?? health.underLoad)?.confidentialComputing === true;
    const guest = machine.platform.confidentialGuest;
    if (!saysDriver && guest === null) return [];
    const slow = isSlow(device);
    const { bounceBufferBytes } = machine.platform;
    return [
      {
        cause: "confidential-computing",
        device: facts.ordinal,
        weight: "explains",
        summary:
          "Confidential computing: copies are encrypted and go through bounce buffers, so pinned copies are hardly faster than pageable ones.",
        evidence: [
          ...(saysDriver ? ["NVML: confidential computing is on"] : []),
          ...(guest === null ? [] : [`this is a confidential virtual machine (${guest})`]),
          ...(bounceBufferBytes === null
            ? []
            : [
                `bounce buffers that the kernel keeps (swiotlb): ${formatSizeRounded(bounceBufferBytes, Math.floor)}`,
              ]),
          ...(slow || pageableNearPinned(device) ? [`pinned: ${ratesText(measured.pinned)}`] : []),
          ...(pageableNearPinned(device) ? [`pageable: ${ratesText(measured.pageable)}`] : []),
          ...(measured.registered.refused === null
            ? []
            : [`registering memory: ${measured.registered.refused}`]),
        ],
        cost: null,
        ...(slow && { claim: claimOf(0, "open") }),
        fix: null,
        sureness: "certain",
      },
    ];
  });
}

/** A call that takes this share of its copy's time counts as waiting for it. */
const waitingShare = 0.5;

/** Calls that should only start a pinned copy wait until it is done, so programs cannot work meanwhile. */
export function copiesWait({ machine, devices }: Examination): Suspect[] {
  return devices.flatMap((device): Suspect[] => {
    const { hostShare, pinned } = device.measured;
    const shares = linkDirections.map((direction) =>
      pinned[direction] === null ? 0 : Math.min(1, hostShare?.[direction] ?? 0),
    );
    const ways = linkDirections.filter((_, i) => shares[i]! >= waitingShare);
    if (ways.length === 0) return [];
    const waiting = ways.length > 1 ? "" : ` ${directionName[ways[0]!]}`;
    const isExplained = isConfidential(device, machine);
    return [
      {
        cause: "copies-wait",
        device: device.facts.ordinal,
        weight: isExplained ? "explains" : "risk",
        summary: `Asynchronous copies of pinned memory${waiting} block here: the calls return only when the copy is done${
          isExplained ? ", as with confidential computing" : ""
        }.`,
        evidence: [
          `share of a pinned copy's time spent in its call: ${shares.map((share) => `${Math.round(share * 100)} %`).join(" to the device and ")} back`,
        ],
        cost: null,
        fix: "Copy in another thread: on the thread that computes, copies and kernels do not overlap.",
        sureness: "certain",
      },
    ];
  });
}

function isConfidential({ health }: DeviceExamination, { platform }: MachineFacts): boolean {
  const says = (health.before ?? health.underLoad)?.confidentialComputing === true;
  return says || platform.confidentialGuest !== null;
}

/** CPU and GPU share memory through NVLink-C2C. */
export function grace({ machine, devices }: Examination): Suspect[] {
  return devices.flatMap((device): Suspect[] => {
    const links = (device.health.before ?? device.health.underLoad)?.c2cLinks ?? 0;
    if (links === 0 && !(machine.platform.graceCpu && pageableNearPinned(device))) return [];
    return [
      {
        cause: "grace",
        device: device.facts.ordinal,
        weight: "explains",
        summary:
          "CPU and GPU are joined by NVLink-C2C: copies do not use PCIe, and pageable ones are about as fast as pinned ones.",
        evidence: [
          ...(links > 0 ? [`links to the CPU other than PCIe: ${links} (NVML)`] : []),
          ...(machine.platform.graceCpu ? ["the CPU is Neoverse V2 (Grace)"] : []),
          ...(pageableNearPinned(device) ? [`pageable: ${ratesText(device.measured.pageable)}`] : []),
        ],
        cost: null,
        fix: null,
        sureness: links > 0 ? "certain" : "likely",
      },
    ];
  });
}

/**
 * The first driver for each compute capability: that of the CUDA version which introduced it (NVIDIA's CUDA Toolkit
 * Release Notes, "CUDA Toolkit and Corresponding Driver Versions").
 */
const firstDrivers: readonly { capability: string; driver: string }[] = [
  { capability: "7.5", driver: "410.48" },
  { capability: "8.0", driver: "450.36" },
  { capability: "8.6", driver: "455.23" },
  { capability: "8.9", driver: "520.61" },
  { capability: "9.0", driver: "520.61" },
  { capability: "10.0", driver: "570.26" },
  { capability: "12.0", driver: "570.26" },
];

/** The driver is older than the card, and runs it as an older one. */
export function driverOld({ machine: { platform }, devices }: Examination): Suspect[] {
  const { driverVersion } = platform;
  if (driverVersion === null) return [];
  return devices.flatMap(({ facts }): Suspect[] => {
    const first = firstDrivers.find(({ capability }) => capability === facts.computeCapability);
    if (first === undefined || !isOlder(driverVersion, first.driver)) return [];
    return [
      {
        cause: "driver-old",
        device: facts.ordinal,
        weight: "risk",
        summary: `The driver, ${driverVersion}, is older than the device: the first driver for it was ${first.driver}.`,
        evidence: [
          `driver ${driverVersion}; compute capability ${facts.computeCapability} came with driver ${first.driver}`,
        ],
        cost: null,
        fix: `Install a newer driver, ${first.driver.split(".", 1)[0]} or above.`,
        sureness: "likely",
      },
    ];
  });
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [thanMajor = 0, thanMinor = 0] = than.split(".").map(Number);
  return major < thanMajor || (major === thanMajor && minor < thanMinor);
}

/** A device shares its way to the CPU if it keeps less than this share of its own rate while all devices copy. */
const sharedShare = 0.9;

/** Share of its rate that a direction keeps at least while the other copies: PCIe has lanes for each direction. */
const leastKeptBothWays = 0.6;

/** The direction that keeps less of its rate while the other one copies too; null if both keep enough. */
export function lostBothWays({
  bothWays,
  pinned,
}: Pick<DeviceMeasurements, "bothWays" | "pinned">): { way: LinkDirection; kept: number } | null {
  const shares = linkDirections.flatMap((way) => {
    const [found, alone] = [bothWays?.[way] ?? null, pinned[way]];
    return found === null || alone === null || alone === 0 ? [] : [{ way, kept: found / alone }];
  });
  const [least] = shares.sort((a, b) => a.kept - b.kept);
  return least !== undefined && least.kept < leastKeptBothWays ? least : null;
}

/** Copies in one direction slow down those in the other, as behind some switches and in some virtual machines. */
export function bothWaysShared({ devices }: Examination): Suspect[] {
  return devices.flatMap((device): Suspect[] => {
    const lost = lostBothWays(device.measured);
    if (lost === null || copiesPastPcie(device)) return [];
    const { bothWays, pinned } = device.measured;
    const { way, kept } = lost;
    const [, ...bridges] = device.path.ports;
    const isBehindSwitch = bridges.length > 1;
    return [
      {
        cause: "both-ways-shared",
        device: device.facts.ordinal,
        weight: "risk",
        summary: `Copies ${directionName[way]} keep only ${Math.floor(kept * 100)} % of their rate while others go the other way${
          isBehindSwitch ? "; the device is behind a switch" : ""
        }.`,
        evidence: [
          `one way at a time: ${ratesText(pinned)}`,
          `both ways at once: ${ratesText(bothWays!)}`,
          ...(isBehindSwitch ? [`bridges above it: ${bridges.map(({ name }) => name).join(", ")}`] : []),
        ],
        cost: null,
        fix: isBehindSwitch
          ? "If programs copy both ways at once, try a slot below another switch or none."
          : "If programs copy both ways at once, look at what both share: host memory, or bridges that are not shown here.",
        sureness: "possible",
      },
    ];
  });
}

/** Devices below one switch, whose rates fall when they copy at the same time. */
export function uplinkShared({ devices }: Examination): Suspect[] {
  const isAbove = (device: DeviceExamination, name: string) =>
    device.path.ports.slice(1).some((port) => port.name === name);
  return devices.flatMap((device): Suspect[] => {
    // The lowest bridge that also leads to other devices is the switch that they share.
    const shared = device.path.ports
      .slice(1)
      .find(({ name }) => devices.some((other) => other !== device && isAbove(other, name)));
    const { together, pinned } = device.measured;
    const falls = linkDirections.filter(
      (direction) =>
        (together?.[direction] ?? Number.POSITIVE_INFINITY) < (pinned[direction] ?? 0) * sharedShare,
    );
    if (shared === undefined || together === null || falls.length === 0) return [];
    const others = devices.filter((other) => other !== device && isAbove(other, shared.name));
    return [
      {
        cause: "uplink-shared",
        device: device.facts.ordinal,
        weight: "explains",
        summary: `The device shares a way to the CPU with device ${others.map(({ facts }) => facts.ordinal).join(", ")}, and is slower when all copy at once.`,
        evidence: [
          `alone: ${ratesText(pinned)}`,
          `all devices together: ${ratesText(together)}`,
          `shared: ${shared.name}`,
        ],
        cost: null,
        fix: null,
        sureness: reachesExpectation(device) ? "certain" : "likely",
      },
    ];
  });
}

/** There is no GPU: all figures describe the host. */
export function emulatedDevice({ emulated }: Examination): Suspect[] {
  if (!emulated) return [];
  return [
    {
      cause: "emulated",
      device: null,
      weight: "explains",
      summary: "This is the emulated device: its figures do not describe a GPU.",
      evidence: [emulatedNotice],
      cost: null,
      fix: null,
      sureness: "certain",
    },
  ];
}

/** This build has no kernels because it was compiled without nvcc, or the driver does not accept them. */
export function kernelsMissing({ emulated, kernelsOff }: Examination): Suspect[] {
  if (kernelsOff === null || emulated) return [];
  return [
    {
      cause: "kernels-missing",
      device: null,
      weight: "explains",
      summary:
        "Kernels cannot be used here: mapped memory is not measured, and copies are compared by reading them back.",
      evidence: [kernelsOff],
      cost: null,
      fix: null,
      sureness: "certain",
    },
  ];
}
