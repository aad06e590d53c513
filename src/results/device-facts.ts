import type { BackendName } from "../settings/choices.js";
import type { LinkRecord } from "../settings/schema-parts.js";

/** Part of every output with figures of the emulated device. */
export const emulatedNotice = "emulated device: figures describe this machine's memory, not a GPU";

export const emulatedNote = `${emulatedNotice}.`;

export function noticeOf(backend: BackendName): string | null {
  return backend === "emulated" ? emulatedNotice : null;
}

/** The version that cuDriverGetVersion encodes: 13000 is "13.0". */
export function cudaVersionName(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

/**
 * Payload of a lane in Gbit/s by PCIe generation (PCI Express Base Specification): raw rate times line code. That is
 * 8b/10b up to generation 2, and 128b/130b from 3 to 5. In generation 6 (PAM4, FLIT mode) it is 242 of a flit's 256
 * bytes; the rest is CRC and forward error correction.
 */
const laneGbps: ReadonlyMap<number, number> = new Map([
  [1, 2.5 * (8 / 10)],
  [2, 5 * (8 / 10)],
  [3, 8 * (128 / 130)],
  [4, 16 * (128 / 130)],
  [5, 32 * (128 / 130)],
  [6, 64 * (242 / 256)],
]);

const bitsPerByte = 8;

/**
 * Limit of a PCIe link in one direction, in decimal GB/s: lane rate x encoding x width. No copy reaches it, because
 * packet headers and flow control are included. Generation 5 x16 has 63.015. Null for an unknown generation or width.
 */
export function linkLimitGBps(generation: number | null, width: number | null): number | null {
  const lane = generation === null ? undefined : laneGbps.get(generation);
  if (lane === undefined || width === null || !(width > 0)) return null;
  return (lane * width) / bitsPerByte;
}

/** The limit of a device's current link; null if copies do not use PCIe, whatever link NVML reports. */
export function pcieLimitGBps(
  { integrated, coherent }: { integrated: boolean; coherent: boolean },
  { generation, width }: Pick<LinkRecord, "generation" | "width">,
): number | null {
  return integrated || coherent ? null : linkLimitGBps(generation, width);
}
