import { countIn, exists, readBytes, readCount, readText } from "../../host/files.js";
import { virtualization } from "../../host/system.js";
import { numaNodeOfPciDevice, sysfsPciName, upstreamPath } from "../../host/topology.js";

/**
 * What sysfs tells of a PCI device and of the bridges between it and the CPU. Below `root`, which tests replace; null
 * where the kernel, a container or a virtual machine does not tell.
 */

/** A port: of the device itself, or of a bridge above it. */
export interface PciPort {
  /** "0000:01:00.0". */
  name: string;
  /**
   * PCIe generation and width that its link has at the moment (a device at rest may lower the generation), and the port's
   * own best. A device's and a switch's upstream port's link is the one above, a root port's and a downstream port's that below.
   */
  generation: number | null;
  maxGeneration: number | null;
  width: number | null;
  maxWidth: number | null;
  /** Null where the kernel does not show them to this user, or where the port is of conventional PCI. */
  settings: PortSettings | null;
  /** The kernel shows this user the first registers alone: `settings` are there, but not seen. */
  hidesSettings: boolean;
  /** States of power management that the link may enter by itself; null where neither sysfs nor `settings` tells. */
  aspm: readonly AspmState[] | null;
  /** Since boot, as Advanced Error Reporting counts them; null where the port or the kernel does not. */
  errors: PortErrors | null;
}

/** Errors that a port saw: corrected ones cost time, the others data or the link. */
export interface PortErrors {
  correctable: number;
  nonFatal: number;
  fatal: number;
}

/** A device, and its way to the CPU. */
export interface PciPath {
  /**
   * From the device up to the root port; empty where sysfs does not have the device. In a virtual machine only the device:
   * the bridges that a guest sees are made up, with links and counters of their own.
   */
  ports: readonly PciPort[];
  /** Node that the device is attached to; null where the firmware does not tell. */
  numaNode: number | null;
  /** The largest window through which others reach the device's memory (BAR1 of NVIDIA's GPUs); null where not told. */
  largestBarBytes: number | null;
  /** How the IOMMU treats its accesses: "identity" or "DMA", "DMA-FQ" (translated); null without one. */
  iommuType: string | null;
}

/** Reads a device's path. `pciBusId` is the driver's or NVML's. Never throws, and nothing of it needs root. */
export function readPciPath(pciBusId: string, root = "/"): PciPath {
  const name = sysfsPciName(pciBusId);
  const isThere = name !== null && exists(root, folderOf(name));
  // The host bridge, which comes first, is no port.
  const bridges =
    isThere && virtualization(root) === null ? (upstreamPath(pciBusId, root) ?? []).slice(1).reverse() : [];
  return {
    ports: isThere ? [name, ...bridges].map((port) => readPort(port, root)) : [],
    numaNode: numaNodeOfPciDevice(pciBusId, root),
    largestBarBytes: isThere ? largestBarBytes(name, root) : null,
    iommuType: isThere ? readText(root, `${folderOf(name)}/iommu_group/type`) : null,
  };
}

/**
 * Corrected errors that the ports of a path counted from one reading to another; null where no port counts them. What
 * started anew meanwhile counts as 0.
 */
export function correctedBetween(before: PciPath, after: PciPath): number | null {
  const counted = after.ports.flatMap(({ name, errors }) => {
    const earlier = before.ports.find((port) => port.name === name)?.errors;
    return errors && earlier ? [Math.max(0, errors.correctable - earlier.correctable)] : [];
  });
  return counted.length === 0 ? null : counted.reduce((sum, count) => sum + count, 0);
}

const folderOf = (name: string) => `sys/bus/pci/devices/${name}`;

/** No function has more: with the extended capabilities, PCI_CFG_SPACE_EXP_SIZE. */
const configBytes = 4096;

/** What users without CAP_SYS_ADMIN in the first user namespace, and so root in containers, read of it. */
const shownToAllBytes = 64;

function readPort(name: string, root: string): PciPort {
  const folder = folderOf(name);
  const config = readBytes(root, `${folder}/config`, configBytes);
  const settings = config === null ? null : parsePciConfig(config);
  return {
    name,
    generation: generationOf(readText(root, `${folder}/current_link_speed`)),
    maxGeneration: generationOf(readText(root, `${folder}/max_link_speed`)),
    width: widthOf(readCount(root, `${folder}/current_link_width`)),
    maxWidth: widthOf(readCount(root, `${folder}/max_link_width`)),
    settings,
    hidesSettings: config !== null && config.length <= shownToAllBytes,
    aspm: readAspm(folder, root) ?? settings?.aspm ?? null,
    errors: readErrors(folder, root),
  };
}

/** Transfers a second and lane in GT/s, by generation from 1 on (PCI Express Base Specification, Link Capabilities). */
const gigatransfers = [2.5, 5, 8, 16, 32, 64];

/** The generation of "32.0 GT/s PCIe", "8 GT/s" (older kernels); null for "Unknown". */
function generationOf(speed: string | null): number | null {
  const rate = Number(/^(\d+(?:\.\d+)?) GT\/s/.exec(speed ?? "")?.[1] ?? Number.NaN);
  const index = gigatransfers.indexOf(rate);
  return index < 0 ? null : index + 1;
}

/** Widths that links have; kernels say 0, 63 or 255 where there is none. */
const widths: readonly (number | null)[] = [1, 2, 4, 8, 12, 16, 32];

function widthOf(width: number | null): number | null {
  return widths.includes(width) ? width : null;
}

/** Kernels from 5.5 on have a file for each state that a device's link could enter: "1" where it may. */
function readAspm(folder: string, root: string): AspmState[] | null {
  const files = { L0s: "l0s_aspm", L1: "l1_aspm" } as const;
  const states = (["L0s", "L1"] as const).map((state) => ({
    state,
    allowed: readText(root, `${folder}/link/${files[state]}`),
  }));
  if (states.every(({ allowed }) => allowed === null)) return null;
  return states.filter(({ allowed }) => allowed === "1").map(({ state }) => state);
}

/**
 * Lines of "BadTLP 2", the last of which is "TOTAL_ERR_COR 2" (Documentation/ABI/testing/sysfs-bus-pci-devices-aer). Requests
 * that a device does not support are left out: firmware and kernels make some whenever they look for what is there.
 */
function readErrors(folder: string, root: string): PortErrors | null {
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

/** More than any window has; a line of garbage is none. */
const mostBarBytes = 2 ** 52;

/** Lines of "0xSTART 0xEND 0xFLAGS", one a BAR (all 0 where there is none), then the ROM and a bridge's windows. */
function largestBarBytes(name: string, root: string): number | null {
  const bars = (readText(root, `${folderOf(name)}/resource`) ?? "").split("\n").slice(0, 6);
  const sizes = bars.flatMap((line) => {
    const match = /^0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16}) 0x/.exec(line);
    if (match === null) return [];
    const [start, end] = [BigInt(`0x${match[1]}`), BigInt(`0x${match[2]}`)];
    const bytes = end > start ? Number(end - start + 1n) : 0;
    return bytes > 0 && bytes <= mostBarBytes ? [bytes] : [];
  });
  return sizes.length === 0 ? null : Math.max(...sizes);
}

/**
 * What a PCI function's configuration space says of how it uses its link. Registers, bits and encodings are those of the
 * PCI Express Base Specification (chapter 7, "Software Initialization and Configuration"), under the names that Linux'
 * include/uapi/linux/pci_regs.h has for them.
 */

/** How a port may send and is asked to behave; a field is null where the function does not have the register. */
interface PortSettings {
  /** What stands at this port: Device/Port Type of the PCI Express capability; null for types that no GPU is behind. */
  kind: "endpoint" | "root port" | "upstream port" | "downstream port" | null;
  /** The most data that one packet carries: as set, and as the port could. */
  maxPayloadBytes: number;
  maxPayloadSupportedBytes: number;
  /** The most data that one read asks for. */
  maxReadRequestBytes: number;
  relaxedOrdering: boolean;
  /** States that the link may fall into on its own while nothing is sent. */
  aspm: readonly AspmState[];
  /**
   * Packets from one device below this port to another are sent up to the root first (ACS P2P request or completion
   * redirect); null where it has no ACS, or where configuration space ends before the extended capabilities.
   */
  redirectsPeers: boolean | null;
}

/** States of Active State Power Management. */
type AspmState = "L0s" | "L1";

/** Before this lie the registers that all functions have, and that every user may read. */
const headerBytes = 0x40;
const statusOffset = 0x06;
const statusHasCapabilities = 0x10;
const firstCapabilityPointer = 0x34;

const pciExpressId = 0x10;
const pciExpressBytes = 0x14;

/** Extended capabilities begin where the space of conventional PCI ends. */
const extendedStart = 0x100;
const accessControlId = 0x000d;
const accessControlBytes = 8;
/** PCI_ACS_RR and PCI_ACS_CR. */
const redirectBits = 0x04 | 0x08;

/** A list that is longer leads in a circle. */
const mostCapabilities = 512;

const kinds: ReadonlyMap<number, PortSettings["kind"]> = new Map([
  [0x0, "endpoint"],
  [0x1, "endpoint"],
  [0x4, "root port"],
  [0x5, "upstream port"],
  [0x6, "downstream port"],
]);

/**
 * The settings in a function's configuration space, as /sys/bus/pci/devices/…/config has it. Null where it ends before
 * the PCI Express capability, as it does for all users but root, or has none.
 */
export function parsePciConfig(bytes: Buffer): PortSettings | null {
  const capability = findPciExpress(bytes);
  if (capability === null) return null;
  const flags = bytes.readUInt16LE(capability + 0x02);
  const supported = bytes.readUInt32LE(capability + 0x04);
  const control = bytes.readUInt16LE(capability + 0x08);
  const linkControl = bytes.readUInt16LE(capability + 0x10);
  return {
    kind: kinds.get((flags >> 4) & 0xf) ?? null,
    maxPayloadBytes: sizeOf(control >> 5),
    maxPayloadSupportedBytes: sizeOf(supported),
    maxReadRequestBytes: sizeOf(control >> 12),
    relaxedOrdering: (control & 0x10) !== 0,
    aspm: (["L0s", "L1"] as const).filter((_, bit) => (linkControl & (1 << bit)) !== 0),
    redirectsPeers: redirectsPeers(bytes),
  };
}

/** Three bits stand for 128 to 4096 bytes; 6 and 7 are reserved, and read as the largest. */
function sizeOf(bits: number): number {
  return 128 << Math.min(bits & 0x7, 5);
}

/** Where the PCI Express capability begins. */
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

function redirectsPeers(bytes: Buffer): boolean | null {
  let at = extendedStart;
  for (let seen = 0; seen < mostCapabilities && at >= extendedStart; ++seen) {
    if (at + accessControlBytes > bytes.length) return null;
    const header = bytes.readUInt32LE(at);
    if ((header & 0xffff) === accessControlId) return (bytes.readUInt16LE(at + 0x06) & redirectBits) !== 0;
    at = (header >>> 20) & 0xffc;
  }
  return null;
}
