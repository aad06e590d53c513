/**
 * What sysfs tells of a PCI device and of the bridges between it and the CPU. Below `root`, which tests replace; null
 * where the kernel, a container or a virtual machine does not tell.
 */

/** A port: of the device itself, or of a bridge above it. */
export interface PciPort {
  /** "0000:01:00.0". */
  name: string;
  /** PCIe generation that the link below the host side trained at, and the port's own best. */
  generation: number | null;
  maxGeneration: number | null;
  width: number | null;
  maxWidth: number | null;
}

/** A device, and its way to the CPU. */
export interface PciPath {
  /** From the device up to the root port; empty where sysfs does not have the device. */
  ports: readonly PciPort[];
  /** Node that the device is attached to; null where the firmware does not tell. */
  numaNode: number | null;
}
