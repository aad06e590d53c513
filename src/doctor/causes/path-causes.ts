import { formatSizeRounded } from "../../settings/units.js";
import type { DeviceExamination, Examination } from "../examination.js";
import type { PciPort } from "../facts/pci-path.js";
import { isSlow, reachesExpectation } from "./cost.js";
import { copiesPastPcie } from "./path-links.js";
import { claimOf, type Seen } from "./share-loss.js";

/**
 * Size of a packet without its payload, from generation 3 on: 4 bytes of framing, a header of 16 (with 64-bit
 * addresses) and 4 of CRC (PCI Express Base Specification, chapters 2 and 3).
 */
const packetOverheadBytes = 24;

function payloadShare(payloadBytes: number): number {
  return payloadBytes / (payloadBytes + packetOverheadBytes);
}

/** Packets carry less than all ports of the path support. */
export function payloadSmall(device: DeviceExamination): Seen | null {
  const settings = device.path.ports.flatMap(({ settings }) => settings ?? []);
  const [own] = device.path.ports;
  // A hidden port, such as all above the device in a virtual machine, may limit the others.
  if (own?.settings == null || settings.length < Math.max(2, device.path.ports.length)) return null;
  const { maxPayloadBytes } = own.settings;
  const supported = Math.min(...settings.map((port) => port.maxPayloadSupportedBytes));
  if (maxPayloadBytes >= supported || reachesExpectation(device)) return null;
  const gain = payloadShare(supported) / payloadShare(maxPayloadBytes);
  const slow = isSlow(device);
  return {
    summary: `Packets carry at most ${maxPayloadBytes} bytes, but all ports of the path support ${supported}.`,
    evidence: [`Max_Payload_Size of ${own.name}: ${maxPayloadBytes} of ${supported} bytes`],
    ...(slow && { claim: claimOf(1 / gain, "limit") }),
    fix: "Set Max Payload Size to Auto in the firmware's settings, or start the kernel with pci=pcie_bus_perf.",
    sureness: "likely",
  };
}

/** Smaller reads leave a fast link waiting for the next one; usually the firmware sets this size. */
const usualReadRequestBytes = 512;

/** The device reads host memory in small pieces. */
export function readRequestSmall(device: DeviceExamination): Seen | null {
  const own = ownPortIfSlow(device);
  if (own?.settings == null || own.settings.maxReadRequestBytes >= usualReadRequestBytes) return null;
  const { maxReadRequestBytes } = own.settings;
  return {
    summary: `The device reads host memory at most ${maxReadRequestBytes} bytes at a time.`,
    evidence: [`Max_Read_Request_Size of ${own.name}: ${maxReadRequestBytes} bytes`],
    fix: "Set Max Read Request Size to Auto or 4096 bytes in the firmware's settings.",
    sureness: "possible",
  };
}

/** The device may not reorder its writes. */
export function relaxedOrderingOff(device: DeviceExamination): Seen | null {
  const own = ownPortIfSlow(device);
  if (own?.settings == null || own.settings.relaxedOrdering) return null;
  return {
    summary: "Relaxed ordering is off: writes to host memory wait for each other.",
    evidence: [`Enable Relaxed Ordering of ${own.name} is not set`],
    fix: "Turn PCIe relaxed ordering on in the firmware's settings.",
    sureness: "possible",
  };
}

/** The IOMMU translates each address that the device uses. */
export function iommuTranslates(device: DeviceExamination, { machine }: Examination): Seen | null {
  const { iommuType } = device.path;
  if (ownPortIfSlow(device) === null || !iommuType?.startsWith("DMA")) return null;
  return {
    summary: "The IOMMU translates all addresses that the device copies from and to.",
    evidence: [
      `type of its IOMMU group: ${iommuType}`,
      ...machine.platform.iommuArguments.map((argument) => `kernel argument: ${argument}`),
    ],
    fix: "Start the kernel with iommu=pt, which turns translation off for the host's own devices.",
    sureness: "possible",
  };
}

/** The port of a device whose copies are slow; null of any other. */
function ownPortIfSlow(device: DeviceExamination): PciPort | null {
  return isSlow(device) ? (device.path.ports[0] ?? null) : null;
}

/** Copies between devices go up to the CPU and through the IOMMU, although a switch joins both. */
export function peersRedirected(device: DeviceExamination, { devices }: Examination): Seen | null {
  const [, ...bridges] = device.path.ports;
  const neighbours = devices.filter(
    (other) => other !== device && bridges.some(({ name }) => isBelow(other, name)),
  );
  const redirecting = bridges.filter(({ settings }) => settings?.redirectsPeers === true);
  if (neighbours.length === 0 || redirecting.length === 0) return null;
  const { iommuType } = device.path;
  return {
    summary: "Copies to devices behind the same switch are sent up to the CPU and back (ACS redirect).",
    evidence: [
      `behind the same switch: device ${neighbours.map(({ facts }) => facts.ordinal).join(", ")}`,
      `ACS redirects at ${redirecting.map(({ name }) => name).join(", ")}`,
      ...(iommuType === null ? [] : [`type of the IOMMU group: ${iommuType}`]),
    ],
    fix: "On a machine without virtual machines, turn ACS off in the firmware's settings, or its redirect bits with setpci.",
    sureness: "likely",
  };
}

/** Whether a device is below this bridge. */
export function isBelow({ path }: DeviceExamination, bridge: string): boolean {
  return path.ports.slice(1).some(({ name }) => name === bridge);
}

/** Below this share of the device's memory, the window through which others see it has to be moved. */
const smallWindowShare = 0.5;

/** The CPU and other devices see only a part of the device's memory at a time. */
export function windowSmall(device: DeviceExamination, { devices }: Examination): Seen | null {
  const health = device.health.before ?? device.health.underLoad;
  const bytes = health?.bar1TotalBytes;
  const memory = device.facts.totalMemoryBytes;
  const sizeText = (size: number) => formatSizeRounded(size, Math.floor);
  // An instance of a divided device has only a part of the window.
  const needsNone = health?.migEnabled === true || copiesPastPcie(device);
  if (!bytes || bytes >= memory * smallWindowShare || needsNone) return null;
  return {
    // Plain copies do not use the window; other devices do.
    weight: devices.length > 1 ? "risk" : "explains",
    summary: `Other devices can access only ${sizeText(bytes)} of the device's memory at a time (BAR1 without Resizable BAR). Plain copies do not use this window.`,
    evidence: [`window: ${sizeText(bytes)}; memory: ${sizeText(memory)}`],
    fix: "Turn Above 4G Decoding and Resizable BAR on in the firmware's settings.",
  };
}
