import type { LinkRecord } from "../results/schema-parts.js";

/*
 * What the module tells of itself, and an open driver of its devices (`NativeDriver` of contract.ts), written by hand as
 * that is: by CUDA, and by NVML where there is one. What is not told is null.
 */

/** How the module was compiled. */
export interface BuildInfo {
  compiler: string;
  /** The kernels are embedded: the build found nvcc. */
  kernels: boolean;
  sanitizer: "address" | "thread" | null;
}

/** What does not change as long as the driver is open. */
export interface DriverFacts {
  emulated: boolean;
  /** cuDriverGetVersion: 13000 is CUDA 13.0. */
  cudaVersion: number;
  /** NVML's driver version, such as "580.159.04"; null without NVML. */
  driverVersion: string | null;
  /** Optional entry points that this driver lacks. */
  missingSymbols: string[];
  /** Why NVML is not used; null where it is. */
  nvmlError: string | null;
  initNs: number;
  devices: DeviceFacts[];
}

/** What the driver tells of a device. */
export interface DeviceFacts {
  ordinal: number;
  name: string;
  uuid: string | null;
  /** Lower case, with domain: "0000:00:06.0". */
  pciBusId: string;
  totalMemoryBytes: number;
  computeCapability: string;
  multiprocessors: number;
  l2CacheBytes: number;
  copyEngines: number;
  integrated: boolean;
  canMapHostMemory: boolean;
  /** Ordinals of the devices whose memory this one can reach directly. */
  peers: number[];
  link: LinkRecord | null;
}

/** In a container the driver may name its processes by other ids, or hide them. */
export interface DeviceProcess {
  pid: number;
  /** Of the device's memory; null where it is not known. */
  deviceMemoryBytes: number | null;
}

/** One reading; what NVML does not tell is null. */
export interface DeviceActivity {
  /** Share of NVML's last sampling period, up to a second, in which a kernel ran, in per cent. */
  computePercent: number | null;
  /** Over the PCIe link, in the last 20 ms. */
  toDeviceBytesPerSecond: number | null;
  fromDeviceBytesPerSecond: number | null;
}

/** One reading of what may hold a device down; each field is null where NVML, or the device, does not tell. */
export interface DeviceHealth {
  link: LinkRecord | null;
  /** What the card can do in the best slot; `link.maxGeneration` is what card and slot can do together. */
  cardMaxGeneration: number | null;
  /** Packets that the link had to send again since the driver was loaded. */
  replays: number | null;
  /** Why clocks are lower than they could be, in NVML's words in lower case with dashes: "hw-thermal-slowdown", "gpu-idle". */
  clockReasons: string[] | null;
  maxSmClockMHz: number | null;
  maxMemoryClockMHz: number | null;
  temperatureC: number | null;
  powerWatts: number | null;
  powerLimitWatts: number | null;
  /** The window through which the CPU, and other devices, reach the device's memory. */
  bar1TotalBytes: number | null;
  /** Uncorrected since the driver was loaded. */
  eccErrors: number | null;
  /** Pages or rows that a reset of the device would take out of use. */
  retirementPending: boolean | null;
  migEnabled: boolean | null;
  /** Copies go through encrypted bounce buffers. */
  confidentialComputing: boolean | null;
  /** Links to the CPU other than PCIe (NVLink-C2C). */
  c2cLinks: number | null;
}
