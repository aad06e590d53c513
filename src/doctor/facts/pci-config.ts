/**
 * What a PCI function's configuration space says of how it uses its link. Registers, bits and encodings are those of the
 * PCI Express Base Specification (chapter 7, "Software Initialization and Configuration"), under the names that Linux'
 * include/uapi/linux/pci_regs.h has for them.
 */

/** How a port may send and is asked to behave; a field is null where the function does not have the register. */
export interface PortSettings {
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
export type AspmState = "L0s" | "L1";

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
