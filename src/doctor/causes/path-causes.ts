import type { DeviceExamination, Examination } from "../examination.js";
import { isSlow, reachesExpectation } from "./cost.js";
import { claimOf, type Seen } from "./share-loss.js";

/**
 * Size of a packet without its payload, from generation 3 on: 4 bytes of framing, a header of 16 (with 64-bit
 * addresses) and 4 of CRC (PCI Express Base Specification, chapters 2 and 3).
 */
const packetOverheadBytes = 24;

function payloadShare(payloadBytes: number): number {
  return payloadBytes / (payloadBytes + packetOverheadBytes);
}

/** Packets are smaller than all ports of the path support. */
export function payloadSmall(device: DeviceExamination): Seen | null {
  const settings = device.path.ports.flatMap(({ settings }) => settings ?? []);
  const [own] = device.path.ports;
  // A hidden port may limit the others: in a virtual machine, all above the device are hidden.
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

/** The IOMMU translates each address that the device uses. */
export function iommuTranslates(device: DeviceExamination, { machine }: Examination): Seen | null {
  const { iommuType } = device.path;
  if (!isSlow(device) || !iommuType?.startsWith("DMA")) return null;
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
