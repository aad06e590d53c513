import { formatWholeShare } from "../../draw/numbers.js";
import {
  type DeviceExamination,
  type DeviceMeasurements,
  type Examination,
  eachWay,
  type LinkDirection,
  linkDirections,
} from "../examination.js";
import type { MachineFacts } from "../facts/machine-facts.js";
import { directionName, isSlow, ratesText, reachesExpectation } from "./cost.js";
import { copiesPastPcie } from "./path-links.js";
import { claimOf, type Seen } from "./share-loss.js";

export function virtualMachine({ machine }: Examination): Seen | null {
  const { virtualization } = machine.host;
  if (virtualization === null || virtualization === "wsl2") return null;
  return {
    weight: "explains",
    summary: "This is a virtual machine: some causes of slow copies can be seen only on its host.",
    evidence: [`hypervisor: ${virtualization}`],
  };
}

/** Windows pins and copies for Linux, so some operations are slower and less memory can be pinned. */
export function wsl({ machine, devices }: Examination): Seen | null {
  if (machine.host.virtualization !== "wsl2") return null;
  const refused = devices.flatMap(({ measured: { registered } }) => registered.refused ?? []);
  return {
    weight: "explains",
    summary: "This is WSL 2: the Windows driver makes the copies and limits pinned memory.",
    evidence: [`kernel: ${machine.host.kernel}`, ...refused.map((reason) => `registering memory: ${reason}`)],
    fix: "Keep pinned pools below 512 MiB, or find with pinbench pin --sizes which amounts are refused here.",
  };
}

/** All copies are encrypted and pass through buffers shared by host and device, so pinning gains nothing. */
export function confidentialComputing(device: DeviceExamination, { machine }: Examination): Seen | null {
  const { health, measured } = device;
  const saysDriver = (health.before ?? health.underLoad)?.confidentialComputing === true;
  const guest = machine.platform.confidentialGuest;
  if (!saysDriver && guest === null) return null;
  const slow = isSlow(device);
  return {
    weight: "explains",
    summary:
      "Confidential computing: copies are encrypted and go through bounce buffers, so pinned copies are hardly faster than pageable ones.",
    evidence: [
      ...(saysDriver ? ["NVML: confidential computing is on"] : []),
      ...(guest === null ? [] : [`this is a confidential virtual machine (${guest})`]),
      `pinned: ${ratesText(measured.pinned)}`,
      `pageable: ${ratesText(measured.pageable)}`,
      ...(measured.registered.refused === null ? [] : [`registering memory: ${measured.registered.refused}`]),
    ],
    ...(slow && { claim: claimOf(0, "open") }),
  };
}

/** A call counts as waiting for its copy if it takes this share of the copy's time. */
const waitingShare = 0.5;

/** Asynchronous calls return only after their pinned copy, so programs cannot work during it. */
export function copiesWait(device: DeviceExamination, { machine }: Examination): Seen | null {
  const { hostShare, pinned } = device.measured;
  const shares = eachWay((way) => (pinned[way] === null ? 0 : Math.min(1, hostShare?.[way] ?? 0)));
  const ways = linkDirections.filter((way) => shares[way] >= waitingShare);
  if (ways.length === 0) return null;
  const waiting = ways.length > 1 ? "" : ` ${directionName[ways[0]!]}`;
  const isExplained = isConfidential(device, machine);
  return {
    weight: isExplained ? "explains" : "risk",
    summary: `Asynchronous copies of pinned memory${waiting} block here: the calls return only when the copy is done${
      isExplained ? ", as with confidential computing" : ""
    }.`,
    evidence: [
      `share of a pinned copy's time spent in its call: ${formatWholeShare(shares.h2d)} to the device and ${formatWholeShare(shares.d2h)} back`,
    ],
    fix: "Copy in another thread: on the thread that computes, copies and kernels do not overlap.",
  };
}

function isConfidential({ health }: DeviceExamination, { platform }: MachineFacts): boolean {
  const says = (health.before ?? health.underLoad)?.confidentialComputing === true;
  return says || platform.confidentialGuest !== null;
}

/** CPU and GPU share memory through NVLink-C2C. */
export function grace(device: DeviceExamination): Seen | null {
  const links = (device.health.before ?? device.health.underLoad)?.c2cLinks ?? 0;
  if (links === 0) return null;
  return {
    weight: "explains",
    summary:
      "CPU and GPU are joined by NVLink-C2C: copies do not use PCIe, and pageable ones are about as fast as pinned ones.",
    evidence: [
      `links to the CPU other than PCIe: ${links} (NVML)`,
      `pageable: ${ratesText(device.measured.pageable)}`,
    ],
  };
}

/** A device shares its path if it keeps less than this share of its rate while all devices copy. */
const sharedShare = 0.9;

/** Minimum share of its rate that a direction keeps during opposite copies: PCIe has lanes for each direction. */
const leastKeptBothWays = 0.6;

/** The direction that loses more of its rate during opposite copies; null if both keep enough. */
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

/** Copies in one direction slow down the other, as behind some switches and in some virtual machines. */
export function bothWaysShared(device: DeviceExamination): Seen | null {
  const lost = lostBothWays(device.measured);
  if (lost === null || copiesPastPcie(device)) return null;
  const { bothWays, pinned } = device.measured;
  const { way, kept } = lost;
  const [, ...bridges] = device.path.ports;
  const isBehindSwitch = bridges.length > 1;
  return {
    summary: `Copies ${directionName[way]} keep only ${formatWholeShare(kept)} of their rate while others go the other way${
      isBehindSwitch ? "; the device is behind a switch" : ""
    }.`,
    evidence: [
      `one way at a time: ${ratesText(pinned)}`,
      `both ways at once: ${ratesText(bothWays!)}`,
      ...(isBehindSwitch ? [`bridges above it: ${bridges.map(({ name }) => name).join(", ")}`] : []),
    ],
    fix: isBehindSwitch
      ? "If programs copy both ways at once, try a slot below another switch or none."
      : "If programs copy both ways at once, look at what both share: host memory, or bridges that are not shown here.",
    sureness: "possible",
  };
}

/** Devices below one switch that are slower when they copy at the same time. */
export function uplinkShared(device: DeviceExamination, { devices }: Examination): Seen | null {
  const others = devices.filter((other) => other !== device);
  // The lowest bridge that leads to several devices is their common switch.
  const shared = device.path.ports.slice(1).find(({ name }) => others.some((other) => isBelow(other, name)));
  const { together, pinned } = device.measured;
  const falls = linkDirections.filter(
    (direction) =>
      (together?.[direction] ?? Number.POSITIVE_INFINITY) < (pinned[direction] ?? 0) * sharedShare,
  );
  if (shared === undefined || together === null || falls.length === 0) return null;
  const sharing = others.filter((other) => isBelow(other, shared.name));
  return {
    weight: "explains",
    summary: `The device shares a way to the CPU with device ${sharing.map(({ facts }) => facts.ordinal).join(", ")}, and is slower when all copy at once.`,
    evidence: [
      `alone: ${ratesText(pinned)}`,
      `all devices together: ${ratesText(together)}`,
      `shared: ${shared.name}`,
    ],
    sureness: reachesExpectation(device) ? "certain" : "likely",
  };
}

/** Whether a device is below this bridge. */
function isBelow({ path }: DeviceExamination, bridge: string): boolean {
  return path.ports.slice(1).some(({ name }) => name === bridge);
}
