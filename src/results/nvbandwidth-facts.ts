import { cudaVersionName } from "./cuda-version.js";
import { type NvbandwidthResult, unusable } from "./nvbandwidth-json.js";
import type { DeviceRecord } from "./schema.js";

const MiB = 1024 ** 2;

export interface BufferSize {
  bytes: number;
  /** The file does not say it and nobody stated it: the default of nvbandwidth's version. */
  isAssumed: boolean;
}

/** "v0.8" is version 0.8; null where it is not recorded. */
export function nvbandwidthVersion({ version }: NvbandwidthResult): string | null {
  return version?.replace(/^v(?=\d)/, "") || null;
}

/** cuDriverGetVersion's 13000 is CUDA 13.0. */
export function cudaVersionOf(result: NvbandwidthResult): string | null {
  const version = result["CUDA Runtime Version"];
  return version === undefined ? null : cudaVersionName(version);
}

/**
 * The size of the buffers, which no version records: `statedBytes`, else the version's default, if no warning says that
 * it was not that. Throws a usage error where it cannot be known, or is not what nvbandwidth can have run with.
 */
export function bufferSizeOf(
  result: NvbandwidthResult,
  statedBytes: number | null,
  name: string,
): BufferSize {
  const isSmaller = [result.warning ?? []]
    .flat()
    .some((text) => /smaller than the default buffer size/i.test(text));
  const defaultBytes = defaultBufferSize(nvbandwidthVersion(result));
  if (statedBytes === null) {
    const hint = "State what its -b was, as in --buffer-size 32MiB.";
    if (isSmaller)
      throw unusable(name, "warns of a buffer smaller than the default, but not of what size", hint);
    if (defaultBytes === null)
      throw unusable(name, "tells neither a buffer size nor nvbandwidth's version", hint);
    return { bytes: defaultBytes, isAssumed: true };
  }
  const hint = "Give the value of nvbandwidth's -b, which counts in MiB, as in --buffer-size 512MiB.";
  if (statedBytes % MiB !== 0) {
    throw unusable(
      name,
      "cannot have been measured with this buffer size: it is not a whole number of MiB",
      hint,
    );
  }
  if (isSmaller && defaultBytes !== null && statedBytes >= defaultBytes) {
    const most = `${defaultBytes / MiB} MiB`;
    throw unusable(
      name,
      `was measured with buffers below ${most}, as it warns itself, not with this size`,
      hint,
    );
  }
  return { bytes: statedBytes, isAssumed: false };
}

/** 64 MiB until 0.6 and 512 MiB from 0.7 on (common.h, and 0.7's release notes). */
function defaultBufferSize(version: string | null): number | null {
  const release = releaseOf(version);
  return release === null ? null : (release >= 0.007 ? 512 : 64) * MiB;
}

/** A number that orders versions: 0.008 for 0.8, 0.01 for 0.10. */
function releaseOf(version: string | null): number | null {
  const match = /^(\d+)\.(\d+)/.exec(version ?? "");
  return match === null ? null : Number(match[1]) + Number(match[2]) / 1000;
}

/** From 0.9 on -H gives host memory huge pages, and nothing says whether it did. */
export function mayHaveHugePages(result: NvbandwidthResult): boolean {
  const release = releaseOf(nvbandwidthVersion(result));
  return release === null || release >= 0.009;
}

/**
 * The GPUs of the list, such as "0: NVIDIA H200 (00000000:00:06): (node-1)", where they have all that the file tells.
 * Empty without a list, or if one of its entries reads differently.
 */
export function devicesOf(result: NvbandwidthResult): DeviceRecord[] {
  const devices = (result["GPU Device list"] ?? []).map(deviceOf);
  return devices.every((device) => device !== null) ? devices : [];
}

function deviceOf(entry: string): DeviceRecord | null {
  const match =
    /^(\d{1,4}): (.+?)(?: \(([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\))?(?:: \([^()]*\))?$/i.exec(entry);
  if (match === null) return null;
  const [, ordinal, name, domain, bus, slot] = match;
  return {
    ordinal: Number(ordinal),
    // Both tools ask cuDeviceGetName.
    name: name!,
    uuid: null,
    // Without the function, which nvbandwidth does not record; its domain has eight digits, CUDA's four.
    pciBusId:
      domain === undefined ? null : `${domain.replace(/^0{1,4}(?=.{4})/, "")}:${bus}:${slot}`.toLowerCase(),
    totalMemoryBytes: null,
    computeCapability: null,
    multiprocessors: null,
    l2CacheBytes: null,
    copyEngines: null,
    numaNode: null,
    link: null,
    linkLimitGBps: null,
  };
}
