import { hostRecord } from "../host/machine-load.js";
import { numaNodeOfPciDevice, upstreamPath } from "../host/topology.js";
import { kernelsOff } from "../measure/prepare.js";
import { openBackend } from "../native/backend.js";
import type { BuildInfo, DeviceFacts } from "../native/device-contract.js";
import { loadAddon } from "../native/load.js";
import { packageVersion } from "../package-facts.js";
import { cudaVersionName, noticeOf, pcieLimitGBps } from "../results/device-facts.js";
import type { HostRecord, ResultDocument } from "../results/schema.js";
import type { BackendChoice } from "../settings/choices.js";

export interface DevicesReport {
  backend: ResultDocument["backend"];
  /** Set for the emulated device. */
  notice: string | null;
  /** `library` is the path or name it was opened with. */
  driver: { library: string; version: string | null; cudaVersion: string; nvmlError: string | null };
  devices: DeviceEntry[];
  host: HostRecord;
  features: Feature[];
  build: BuildInfo & { version: string };
}

export interface DeviceEntry extends DeviceFacts {
  numaNode: number | null;
  /** The bridges above it, as in `DeviceRecord`. */
  upstreamPath: string[] | null;
  /** Limit of the current link, which may be lower at rest than under load. */
  linkLimitGBps: number | null;
}

export interface Feature {
  name: string;
  on: boolean;
  /** Why it is off, or its limits; null if there is nothing to report. */
  reason: string | null;
}

/**
 * The devices, their driver and this machine. Opens the driver but no device, so the GPU is not disturbed. Throws
 * PinbenchError.
 */
export async function describeDevices(choice: BackendChoice): Promise<DevicesReport> {
  const loaded = loadAddon();
  const backend = await openBackend(choice, loaded);
  const { facts } = backend;
  const { build } = loaded.addon;
  const kernels = kernelsOff(backend, build);
  return {
    backend: backend.name,
    notice: noticeOf(backend.name),
    driver: {
      library: backend.library,
      version: facts.driverVersion,
      cudaVersion: cudaVersionName(facts.cudaVersion),
      nvmlError: facts.nvmlError,
    },
    devices: facts.devices.map((device) => ({
      ...device,
      numaNode: numaNodeOfPciDevice(device.pciBusId),
      upstreamPath: upstreamPath(device.pciBusId),
      linkLimitGBps: device.link && pcieLimitGBps(device, device.link),
    })),
    host: hostRecord(),
    features: [
      { name: "mapped memory (kernels)", on: kernels === null, reason: kernels },
      {
        name: "link and clocks (NVML)",
        on: facts.nvmlError === null && !facts.emulated,
        reason: facts.emulated ? "the emulated device has no link" : facts.nvmlError,
      },
    ],
    build: { ...build, version: packageVersion() },
  };
}
