import { countIn, exists, readBytes, readCount, readText } from "../../host/files.js";
import { virtualization } from "../../host/system.js";
import { numaNodeOfPciDevice, sysfsPciName, upstreamPath } from "../../host/topology.js";
import { sumOf } from "../../stats/variance.js";

/**
 * Facts from sysfs on a PCI device and the bridges between it and the CPU, below `root`, which tests replace; null if
 * the kernel, a container or a virtual machine hides them.
 */

/** A port: of the device itself, or of a bridge above it. */
export type PciPort = ReturnType<typeof readPort>;

/** A device and its way to the CPU. */
export type PciPath = ReturnType<typeof readPciPath>;

/** Reads a device's path. `pciBusId` is that of the driver or NVML. Never throws, and needs no root. */
export function readPciPath(pciBusId: string, root = "/") {
  const name = sysfsPciName(pciBusId);
  const isThere = name !== null && exists(root, folderOf(name));
  // The host bridge, which comes first, is not a port.
  const bridges =
    isThere && virtualization(root) === null ? (upstreamPath(pciBusId, root) ?? []).slice(1).reverse() : [];
  return {
    /**
     * From the device up to the root port; empty if the device is missing in sysfs. In a virtual machine only the
     * device: the bridges that a guest sees are emulated, with links and counters of their own.
     */
    ports: isThere ? [name, ...bridges].map((port) => readPort(port, root)) : [],
    /** The node that the device is attached to; null if the firmware does not report it. */
    numaNode: numaNodeOfPciDevice(pciBusId, root),
    /** How the IOMMU treats its accesses: "identity", or "DMA", "DMA-FQ" (translated); null without one. */
    iommuType: isThere ? readText(root, `${folderOf(name)}/iommu_group/type`) : null,
  };
}

/** Whether sysfs shows the port above the device, whose link has the lanes of the slot. */
export function isSlotSeen({ ports }: PciPath): boolean {
  return ports.length > 1;
}

/**
 * Corrected errors that the ports of a path counted between two readings; null if no port counts. A counter that was
 * reset in between counts as 0.
 */
export function correctedBetween(before: PciPath, after: PciPath): number | null {
  const counted = after.ports.flatMap(({ name, errors }) => {
    const earlier = before.ports.find((port) => port.name === name)?.errors;
    return errors && earlier ? [Math.max(0, errors.correctable - earlier.correctable)] : [];
  });
  return counted.length === 0 ? null : sumOf(counted);
}

const folderOf = (name: string) => `sys/bus/pci/devices/${name}`;

/** Conventional configuration space, which has the PCI Express capability: PCI_CFG_SPACE_SIZE. */
const configBytes = 256;

/** The part shown to users without CAP_SYS_ADMIN in the first user namespace, so also to root in containers. */
const shownToAllBytes = 64;

function readPort(name: string, root: string) {
  const folder = folderOf(name);
  const config = readBytes(root, `${folder}/config`, configBytes);
  const settings = config === null ? null : parsePciConfig(config);
  return {
    /** "0000:01:00.0". */
    name,
    /**
     * PCIe generation and width of its link at the moment (a resting device may lower the generation), and the port's
     * own best. For a device or an upstream port it is the link above, for a root port or a downstream port the link
     * below.
     */
    generation: generationOf(readText(root, `${folder}/current_link_speed`)),
    maxGeneration: generationOf(readText(root, `${folder}/max_link_speed`)),
    width: widthOf(readCount(root, `${folder}/current_link_width`)),
    maxWidth: widthOf(readCount(root, `${folder}/max_link_width`)),
    /** Null if the kernel hides them from this user, or for a port of conventional PCI. */
    settings,
    /** Whether the kernel shows this user only the first registers: `settings` exist, but are hidden. */
    hidesSettings: config !== null && config.length <= shownToAllBytes,
    errors: readErrors(folder, root),
  };
}

/**
 * Transfers per second and lane in GT/s, by generation from 1 on (PCI Express Base Specification, Link Capabilities).
 */
const gigatransfers = [2.5, 5, 8, 16, 32, 64];

/** The generation of "32.0 GT/s PCIe", "8 GT/s" (older kernels); null for "Unknown". */
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
 * Errors that a port saw since boot, as counted by Advanced Error Reporting: corrected ones cost time, the others cost
 * data or the link. Null if the port or the kernel does not count.
 *
 * Lines such as "BadTLP 2"; the last one is "TOTAL_ERR_COR 2" (Documentation/ABI/testing/sysfs-bus-pci-devices-aer).
 * Unsupported requests are left out: firmware and kernels cause some while they enumerate devices.
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
 * How a PCI function uses its link, from its configuration space. Registers, bits and encodings are those of the PCI
 * Express Base Specification (chapter 7, "Software Initialization and Configuration"), with the names of Linux'
 * include/uapi/linux/pci_regs.h.
 */

/** Registers of all functions, readable for every user, lie before this offset. */
const headerBytes = 0x40;
const statusOffset = 0x06;
const statusHasCapabilities = 0x10;
const firstCapabilityPointer = 0x34;

const pciExpressId = 0x10;
const pciExpressBytes = 0x14;

/** A longer list is circular. */
const mostCapabilities = 512;

/**
 * The settings in a function's configuration space, from /sys/bus/pci/devices/…/config. Null if it has no PCI Express
 * capability, or ends before it, as for all users but root.
 */
export function parsePciConfig(bytes: Buffer) {
  const capability = findPciExpress(bytes);
  if (capability === null) return null;
  const supported = bytes.readUInt32LE(capability + 0x04);
  const control = bytes.readUInt16LE(capability + 0x08);
  return {
    /** Most data of one packet: as set, and as the port supports. */
    maxPayloadBytes: sizeOf(control >> 5),
    maxPayloadSupportedBytes: sizeOf(supported),
  };
}

/** Three bits for 128 to 4096 bytes; 6 and 7 are reserved, and read as the largest. */
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
