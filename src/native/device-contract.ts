import type { LinkRecord } from "../settings/schema-parts.js";

/*
 * Reports of the compiled module on itself, and of an open driver on its devices (from CUDA, and NVML if present).
 * Written by hand for the calls of contract.ts. Unknown facts are null.
 */

/** How the module was compiled. */
export interface BuildInfo {
  compiler: string;
  /** Whether the build embedded the kernels, which needs nvcc. */
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
  /** Whether cuMemHostRegister works; it does not on GB10 and Jetsons. */
  canRegisterHostMemory: boolean;
  /** Whether kernels can access pageable memory: with NVLink-C2C, or with Linux' HMM. */
  readsPageable: boolean;
  /** Whether it uses the CPU's page tables over NVLink-C2C, so that copies do not go through PCIe. */
  coherent: boolean;
  /** Ordinals of the devices whose memory this one can access directly. */
  peers: number[];
  link: LinkRecord | null;
}

/** One reading; null for what NVML does not report. */
export interface DeviceActivity {
  /** Percentage of NVML's last sampling period (at most a second) with a running kernel. */
  computePercent: number | null;
  /** Over the PCIe link in the last 20 ms. */
  toDeviceBytesPerSecond: number | null;
  fromDeviceBytesPerSecond: number | null;
}

/** One reading of what may slow a device down; a field is null if NVML or the device does not report it. */
export interface DeviceHealth {
  link: LinkRecord | null;
  /** The card's best generation in any slot; `link.maxGeneration` is the best of card and slot together. */
  cardMaxGeneration: number | null;
  /** Packets that the link repeated since the driver was loaded. */
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
  /** Uncorrected errors since the driver was loaded. */
  eccErrors: number | null;
  /** Whether a reset of the device would retire pages or rows. */
  retirementPending: boolean | null;
  migEnabled: boolean | null;
  /** Whether copies go through encrypted bounce buffers. */
  confidentialComputing: boolean | null;
  /** Links to the CPU other than PCIe (NVLink-C2C). */
  c2cLinks: number | null;
}
