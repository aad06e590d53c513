import { countIn, exists, readBytes, readCount, readText } from "../../host/files.js";
import { virtualization } from "../../host/system.js";
import { numaNodeOfPciDevice, sysfsPciName, upstreamPath } from "../../host/topology.js";
import { sumOf } from "../../stats/variance.js";

/**
 * Facts from sysfs about a PCI device and the bridges up to the CPU; null if the kernel, a container or a virtual
 * machine hides them. Tests replace `root`.
 */

/** A port of the device or of a bridge above it. */
export type PciPort = ReturnType<typeof readPort>;

export type PciPath = ReturnType<typeof readPciPath>;

/** Reads a device's path; `pciBusId` is from the driver or NVML. Never throws, and needs no root user. */
export function readPciPath(pciBusId: string, root = "/") {
  const name = sysfsPciName(pciBusId);
  const isThere = name !== null && exists(root, folderOf(name));
  // The first entry is the host bridge, which is no port.
  const bridges =
    isThere && virtualization(root) === null ? (upstreamPath(pciBusId, root) ?? []).slice(1).reverse() : [];
  return {
    /**
     * Ports from the device to the root port; empty if sysfs lacks the device. In a virtual machine only the device:
     * bridges are emulated, with links and counters of their own.
     */
    ports: isThere ? [name, ...bridges].map((port) => readPort(port, root)) : [],
    /** NUMA node of the device; null if the firmware does not report it. */
    numaNode: numaNodeOfPciDevice(pciBusId, root),
    /** How the IOMMU handles its accesses: "identity", or "DMA", "DMA-FQ" (translated); null without one. */
    iommuType: isThere ? readText(root, `${folderOf(name)}/iommu_group/type`) : null,
  };
}

/** Whether sysfs shows the port above the device, whose lanes are the slot's. */
export function isSlotSeen({ ports }: PciPath): boolean {
  return ports.length > 1;
}

/**
 * Corrected errors counted by a path's ports between two readings; null if no port counts. A counter reset in between
 * counts as 0.
 */
export function correctedBetween(before: PciPath, after: PciPath): number | null {
  const counted = after.ports.flatMap(({ name, errors }) => {
    const earlier = before.ports.find((port) => port.name === name)?.errors;
    return errors && earlier ? [Math.max(0, errors.correctable - earlier.correctable)] : [];
  });
  return counted.length === 0 ? null : sumOf(counted);
}

const folderOf = (name: string) => `sys/bus/pci/devices/${name}`;

/** Size of the configuration space with the PCI Express capability: PCI_CFG_SPACE_SIZE. */
const configBytes = 256;

/** The part visible without CAP_SYS_ADMIN in the first user namespace, also to root in containers. */
const shownToAllBytes = 64;

function readPort(name: string, root: string) {
  const folder = folderOf(name);
  const config = readBytes(root, `${folder}/config`, configBytes);
  const settings = config === null ? null : parsePciConfig(config);
  return {
    /** "0000:01:00.0". */
    name,
    /**
     * PCIe generation and width of its link now (the generation may be lower at rest), and the port's best. For a
     * device or an upstream port it is the link above, for other ports the link below.
     */
    generation: generationOf(readText(root, `${folder}/current_link_speed`)),
    maxGeneration: generationOf(readText(root, `${folder}/max_link_speed`)),
    width: widthOf(readCount(root, `${folder}/current_link_width`)),
    maxWidth: widthOf(readCount(root, `${folder}/max_link_width`)),
    /** Null if the kernel hides them from this user, or for conventional PCI. */
    settings,
    /** Whether the kernel shows only the first registers, which hides `settings`. */
    hidesSettings: config !== null && config.length <= shownToAllBytes,
    errors: readErrors(folder, root),
  };
}

/**
 * Transfers per second and lane in GT/s, by generation from 1 on (PCI Express Base Specification, Link Capabilities).
 */
const gigatransfers = [2.5, 5, 8, 16, 32, 64];

/** The generation for "32.0 GT/s PCIe" or "8 GT/s" (older kernels); null for "Unknown". */
function generationOf(speed: string | null): number | null {
  const rate = Number(/^(\d+(?:\.\d+)?) GT\/s/.exec(speed ?? "")?.[1] ?? Number.NaN);
  const index = gigatransfers.indexOf(rate);
  return index < 0 ? null : index + 1;
}

/** Possible widths of links; kernels report 0, 63 or 255 without a link. */
const widths: readonly (number | null)[] = [1, 2, 4, 8, 12, 16, 32];

function widthOf(width: number | null): number | null {
  return widths.includes(width) ? width : null;
}

/**
 * Errors of a port since boot, from Advanced Error Reporting; corrected ones cost time, others data or the link. Null
 * if not counted.
 *
 * Lines are such as "BadTLP 2"; the last one is "TOTAL_ERR_COR 2"
 * (Documentation/ABI/testing/sysfs-bus-pci-devices-aer). Leaves out unsupported requests, which firmware and kernels
 * cause while they enumerate devices.
 */
function readErrors(folder: string, root: string) {
  const count = (file: string, line: string) => {
    const text = readText(root, `${folder}/aer_dev_${file}`) ?? "";
    return countIn(new RegExp(`^(?:${line}) (\\d+)$`, "m").exec(text)?.[1]);
  };
  const correctable = count("correctable", "TOTAL_ERR_COR");
  if (correctable === null) return null;
  const uncorrected = (file: "nonfatal" | "fatal") =>
    Math.max(
      0,
      (count(file, `TOTAL_ERR_${file.toUpperCase()}`) ?? 0) -
        (count(file, "UnsupReq|Unsupported Request") ?? 0),
    );
  return { correctable, nonFatal: uncorrected("nonfatal"), fatal: uncorrected("fatal") };
}

/**
 * Link settings in a PCI function's configuration space. Registers are from the PCI Express Base Specification (chapter
 * 7, "Software Initialization and Configuration"), with names of Linux' include/uapi/linux/pci_regs.h.
 */

/** The registers before this offset exist in all functions, and all users can read them. */
const headerBytes = 0x40;
const statusOffset = 0x06;
const statusHasCapabilities = 0x10;
const firstCapabilityPointer = 0x34;

const pciExpressId = 0x10;
const pciExpressBytes = 0x14;

/** A longer list must be circular. */
const mostCapabilities = 512;

/**
 * The settings in a function's configuration space (/sys/bus/pci/devices/…/config). Null without a PCI Express
 * capability, or if it ends before that, as for all users but root.
 */
export function parsePciConfig(bytes: Buffer) {
  const capability = findPciExpress(bytes);
  if (capability === null) return null;
  const supported = bytes.readUInt32LE(capability + 0x04);
  const control = bytes.readUInt16LE(capability + 0x08);
  return {
    /** Maximum payload of a packet: as set, and as the port supports. */
    maxPayloadBytes: sizeOf(control >> 5),
    maxPayloadSupportedBytes: sizeOf(supported),
  };
}

/** Three bits encode 128 to 4096 bytes; 6 and 7 are reserved, and read as 4096. */
function sizeOf(bits: number): number {
  return 128 << Math.min(bits & 0x7, 5);
}

function findPciExpress(bytes: Buffer): number | null {
  if (bytes.length <= headerBytes) return null;
  if ((bytes.readUInt16LE(statusOffset) & statusHasCapabilities) === 0) return null;
  // The two lowest bits of a pointer are reserved.
  let at = bytes[firstCapabilityPointer]! & 0xfc;
  for (let seen = 0; seen < mostCapabilities && at >= headerBytes; ++seen) {
    if (at + pciExpressBytes > bytes.length) return null;
    if (bytes[at] === pciExpressId) return at;
    at = bytes[at + 1]! & 0xfc;
  }
  return null;
}
