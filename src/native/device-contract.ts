import type { LinkRecord } from "../settings/schema-parts.js";

/*
 * What the compiled module reports on itself, and an open driver on its devices (from CUDA, and from NVML if it exists).
 * Written by hand, like contract.ts, whose calls return it. Unknown facts are null.
 */

/** How the module was compiled. */
export interface BuildInfo {
  compiler: string;
  /** The kernels are embedded: the build found nvcc. */
  kernels: boolean;
  sanitizer: "address" | "thread" | null;
}

/** Facts that do not change while the driver is open. */
export interface DriverFacts {
  emulated: boolean;
  /** cuDriverGetVersion: 13000 is CUDA 13.0. */
  cudaVersion: number;
  /** NVML's driver version, such as "580.159.04"; null without NVML. */
  driverVersion: string | null;
  /** Optional entry points that this driver lacks. */
  missingSymbols: string[];
  /** Why NVML is not used; null if it is. */
  nvmlError: string | null;
  initNs: number;
  devices: DeviceFacts[];
}

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
  /** cuMemHostRegister works: not on GB10 and Jetsons. */
  canRegisterHostMemory: boolean;
  /** Kernels take addresses of pageable memory: with NVLink-C2C, or with the kernel's HMM. */
  readsPageable: boolean;
  /** It uses the page tables of the CPU, over NVLink-C2C: copies do not go through PCIe. */
  coherent: boolean;
  /** Ordinals of the devices whose memory this one can access directly. */
  peers: number[];
  link: LinkRecord | null;
}

/** One reading; null for what NVML does not report. */
export interface DeviceActivity {
  /** Percentage of NVML's last sampling period, up to a second, in which a kernel ran. */
  computePercent: number | null;
  /** Over the PCIe link, in the last 20 ms. */
  toDeviceBytesPerSecond: number | null;
  fromDeviceBytesPerSecond: number | null;
}

/** One reading of what may slow a device down; each field is null if NVML, or the device, does not report it. */
export interface DeviceHealth {
  link: LinkRecord | null;
  /** The card's best in any slot; `link.maxGeneration` is the best of card and slot together. */
  cardMaxGeneration: number | null;
  /** Packets that the link had to repeat since the driver was loaded. */
  replays: number | null;
  /**
   * Why clocks are below their maximum: NVML's names in lower case with dashes, such as "hw-thermal-slowdown",
   * "gpu-idle".
   */
  clockReasons: string[] | null;
  maxSmClockMHz: number | null;
  temperatureC: number | null;
  powerWatts: number | null;
  powerLimitWatts: number | null;
  /** Uncorrected since the driver was loaded. */
  eccErrors: number | null;
  /** Whether a reset of the device would take pages or rows out of use. */
  retirementPending: boolean | null;
  migEnabled: boolean | null;
  /** Whether copies go through encrypted bounce buffers. */
  confidentialComputing: boolean | null;
  /** Links to the CPU other than PCIe (NVLink-C2C). */
  c2cLinks: number | null;
}
